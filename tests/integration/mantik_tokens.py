# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fakes Mantik's token routes, based on the requests and replies that its own Python client uses."""

import datetime
import json

USER, PASSWORD = "ada", 'pa"ss wörd'


class TokenRoutes:
    """Mixin for a server. One access token is valid at a time: "access-1", then "access-2" and so on."""

    def __init__(self, *arguments, **how):
        self.given = 0
        self.valid = set()
        self.refresh_tokens = set()
        super().__init__(*arguments, **how)

    def answer_for_token(self, route, asked):
        if route == "create" and asked != {"username": USER, "password": PASSWORD}:
            return 401, "application/json", b'{"detail": "incorrect username or password"}'
        known = set(asked) == {"username", "refresh_token"} and asked["refresh_token"] in self.refresh_tokens
        if route == "refresh" and not known:
            return 401, "application/json", b'{"detail": "Refresh token is invalid"}'
        self.given += 1
        ends = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(hours=1)
        answer = {"AccessToken": f"access-{self.given}", "ExpiresAt": ends.isoformat()}
        if route == "create":
            answer["RefreshToken"] = f"refresh-{self.given}"
            self.refresh_tokens.add(answer["RefreshToken"])
        self.valid = {answer["AccessToken"]}
        return 201, "application/json", json.dumps(answer).encode()

    def lets_in(self, headers):
        return headers.get("Authorization", "").removeprefix("Bearer ") in self.valid
