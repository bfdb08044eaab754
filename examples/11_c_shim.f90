! SPDX-FileCopyrightText: The Takt authors
! SPDX-License-Identifier: BSD-3-Clause
! Calls the shim of 11_c_shim.cpp from a climate model. Not compiled by Takt's build.

module takt_shim
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char, c_ptr
  implicit none
  interface
    integer(c_int) function shim_open(name) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function
    subroutine shim_close() bind(c)
    end subroutine
    type(c_ptr) function shim_key(name, kind) bind(c)
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: kind
    end function
    subroutine shim_begin(key) bind(c)
      import :: c_ptr
      type(c_ptr), value :: key
    end subroutine
    subroutine shim_end(key) bind(c)
      import :: c_ptr
      type(c_ptr), value :: key
    end subroutine
  end interface
end module

program model
  use takt_shim
  implicit none
  type(c_ptr) :: step, physics
  integer :: hour

  if (shim_open("model" // c_null_char) /= 0) stop 1
  step = shim_key("Batch" // c_null_char, 4_c_int)
  physics = shim_key("physics" // c_null_char, 0_c_int)
  do hour = 1, 24
    call shim_begin(step)
    call shim_begin(physics)
    ! ... the physics of one hour
    call shim_end(physics)
    call shim_end(step)
  end do
  call shim_close()
end program
