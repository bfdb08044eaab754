! SPDX-FileCopyrightText: The Takt authors
! SPDX-License-Identifier: BSD-3-Clause

! The run of same.cpp.
program same
  use takt
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  type(takt_key) :: batch_key, attention, loss
  type(takt_options) :: options
  type(takt_region) :: batch, region
  character(:), allocatable :: error
  integer :: number, step, status

  batch_key = takt_get_key("Batch")
  attention = takt_get_key("attention", TAKT_COMPUTE)
  loss = takt_get_key("loss copy", TAKT_WAIT)
  call takt_new_options(options)
  call options%set("TAKT_WARMUP", "1", status)
  if (status /= TAKT_OK) stop 1
  call takt_open("same", options, status)
  if (status /= TAKT_OK) stop 1
  call takt_param("layers", 3)
  call takt_param("rate", 0.1)
  call takt_param("optimizer", "sgd")
  call takt_param("item_unit", "tokens")
  call takt_tag("data", "none")
  call takt_group("stage", 2)
  call takt_name_thread("trainer")
  do number = 0, 1
    call epoch()
  end do
  call takt_metric("accuracy", 0.5, 7_int64)
  call takt_close(status)
  error = takt_last_error()
  if (status /= TAKT_OK .or. error /= "") stop 1

contains

  subroutine epoch()
    type(takt_scope) :: scope
    call scope%begin(takt_get_key("Epoch"))
    call takt_step(100 * number)
    do step = 0, 2
      batch = takt_begin(batch_key)
      region = takt_begin(takt_get_key("IO"))
      call takt_bytes(region, 4096)
      call takt_end(region)
      call forward()
      region = takt_begin(takt_get_key("Backward"))
      call takt_lap(region, takt_get_key("Optimizer"))
      call takt_end(region)
      region = takt_begin_every(loss, 2)
      call takt_end(region)
      call takt_record(takt_get_key("Comm"), 1000_int64)
      call takt_items(batch, 32)
      call takt_metric("loss", 1.0d0 / (step + 1))
      call takt_end(batch)
    end do
    call takt_set_enabled(.false.)
    region = takt_begin(takt_get_key("Validation"))
    call takt_end(region)
    call takt_set_enabled(.true.)
  end subroutine

  subroutine forward()
    type(takt_scope) :: outer
    call outer%begin(takt_get_key("Forward"))
    block
      type(takt_scope) :: inner
      call inner%begin(attention)
    end block
    if (step >= 0) return  ! the region ends here, too
    call takt_fail()
  end subroutine
end program
