# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads a directory's complete data from the server behind TensorBoard's pages and prints it as JSON.

through_server.py <directory>"""

import json
import sys

from tensorboard import context
from tensorboard.data import server_ingester
from tensorboard.util import grpc_util

MOST = 1 << 20  # values of a tag: none is left out


def main():
    ingester = server_ingester.SubprocessServerDataIngester(
        server_binary=server_ingester.get_server_binary(), logdir=sys.argv[1], reload_interval=5,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL, samples_per_plugin={"scalars": MOST, "histograms": MOST})
    ingester.start()  # returns when everything is loaded
    provider, asked = ingester.data_provider, context.RequestContext()
    scalars = provider.read_scalars(asked, experiment_id="", plugin_name="scalars", downsample=MOST)
    tensors = provider.read_tensors(asked, experiment_id="", plugin_name="histograms", downsample=MOST)
    json.dump({run: {"scalars": {tag: [[each.step, each.wall_time, each.value] for each in values]
                                 for tag, values in tags.items()},
                     "histograms": {tag: [[each.step, each.wall_time, each.numpy.tolist()] for each in values]
                                    for tag, values in tensors.get(run, {}).items()}}
               for run, tags in scalars.items()}, sys.stdout)


main()
