! SPDX-FileCopyrightText: The Takt authors
! SPDX-License-Identifier: BSD-3-Clause
program consumer
  use takt
  implicit none
  type(takt_key) :: batch
  type(takt_region) :: region
  integer :: step, status

  batch = takt_get_key("Batch")
  call takt_open("consumer", status=status)
  if (status /= TAKT_OK) stop 1
  do step = 1, 3
    region = takt_begin(batch)
    call takt_end(region)
  end do
  if (index(takt_snapshot_json(), '"steps":3') == 0) stop 2
  call takt_close(status)
  if (status /= TAKT_OK) stop 3
end program
