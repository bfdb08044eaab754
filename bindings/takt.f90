! SPDX-FileCopyrightText: The Takt authors
! SPDX-License-Identifier: BSD-3-Clause

!> Takt for Fortran 2008, over takt.h, which describes the calls. Texts lose trailing blanks. Every subroutine has an
!> optional last argument `status`: TAKT_OK or another code. Without it, an error is still reported on stderr.
module takt
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private

  integer(c_int), parameter, public :: TAKT_OK = 0, TAKT_MISUSE = 1, TAKT_INCOMPLETE = 2, TAKT_NO_MEMORY = 3
  integer(c_int), parameter, public :: TAKT_ANY = -1, TAKT_COMPUTE = 0, TAKT_COMM = 1, TAKT_IO = 2, TAKT_WAIT = 3, &
                                       TAKT_OTHER = 4

  !> The name and kind of regions, made by takt_get_key().
  type, public :: takt_key
    type(c_ptr) :: c = c_null_ptr
  end type

  !> A started region.
  type, bind(c), public :: takt_region
    integer(c_int64_t) :: place = 0
    integer(c_int64_t) :: start = 0
  end type

  !> A region that ends with its block or procedure, by any way out:
  !>     block
  !>       type(takt_scope) :: scope
  !>       call scope%begin(forward)
  !>       ...
  !>     end block
  type, public :: takt_scope
    type(takt_region) :: region
  contains
    procedure :: begin => scope_begin
    procedure :: end => scope_end
    procedure, private :: scope_items_32, scope_items_64
    generic :: items => scope_items_32, scope_items_64
    final :: scope_leave
  end type

  !> Options of a run, by the names of their variables (docs/environment.md). Not to be copied.
  type, public :: takt_options
    type(c_ptr) :: c = c_null_ptr
  contains
    procedure :: set => options_set
    final :: options_free
  end type

  interface takt_param
    module procedure param_text, param_int32, param_int64, param_real32, param_real64
  end interface
  interface takt_metric
    module procedure metric_real32, metric_real64
  end interface
  interface takt_step
    module procedure step_int32, step_int64
  end interface
  interface takt_items
    module procedure items_int32, items_int64
  end interface
  interface takt_bytes
    module procedure bytes_int32, bytes_int64
  end interface

  public :: takt_get_key, takt_begin, takt_begin_every, takt_end, takt_lap, takt_items, takt_bytes, takt_record
  public :: takt_open, takt_close, takt_param, takt_tag, takt_group, takt_metric, takt_step, takt_fail, takt_print
  public :: takt_set_enabled, takt_enabled, takt_name_thread, takt_snapshot_json, takt_last_error
  public :: takt_new_options, takt_begin_cuda, takt_begin_hip, takt_mpi_options, takt_mpi_reduce

  ! Of separate libraries, so they are called directly: key%c, options%c, and comm%MPI_VAL of mpi_f08.
  interface
    type(takt_region) function takt_begin_cuda(key, stream) bind(c)
      import :: takt_region, c_ptr
      type(c_ptr), value :: key, stream
    end function
    type(takt_region) function takt_begin_hip(key, stream) bind(c)
      import :: takt_region, c_ptr
      type(c_ptr), value :: key, stream
    end function
    integer(c_int) function takt_mpi_options(options, comm) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: options
      integer(c_int), value :: comm
    end function
    integer(c_int) function takt_mpi_reduce(milliseconds) bind(c)
      import :: c_int
      integer(c_int), value :: milliseconds
    end function
  end interface

  interface
    type(c_ptr) function c_get_key(name, kind) bind(c, name="takt_get_key")
      import :: c_ptr, c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: kind
    end function
    type(takt_region) function c_begin(key) bind(c, name="takt_begin")
      import :: takt_region, c_ptr
      type(c_ptr), value :: key
    end function
    type(takt_region) function c_begin_every(key, n) bind(c, name="takt_begin_every")
      import :: takt_region, c_ptr, c_int32_t
      type(c_ptr), value :: key
      integer(c_int32_t), value :: n
    end function
    integer(c_int) function c_end(region) bind(c, name="takt_end")
      import :: takt_region, c_int
      type(takt_region), intent(inout) :: region
    end function
    integer(c_int) function c_lap(region, key) bind(c, name="takt_lap")
      import :: takt_region, c_int, c_ptr
      type(takt_region), intent(inout) :: region
      type(c_ptr), value :: key
    end function
    integer(c_int) function c_items(region, n) bind(c, name="takt_items")
      import :: takt_region, c_int, c_int64_t
      type(takt_region), intent(in) :: region
      integer(c_int64_t), value :: n
    end function
    integer(c_int) function c_bytes(region, n) bind(c, name="takt_bytes")
      import :: takt_region, c_int, c_int64_t
      type(takt_region), intent(in) :: region
      integer(c_int64_t), value :: n
    end function
    integer(c_int) function c_record(key, ns) bind(c, name="takt_record")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: key
      integer(c_int64_t), value :: ns
    end function
    subroutine c_set_enabled(on) bind(c, name="takt_set_enabled")
      import :: c_int
      integer(c_int), value :: on
    end subroutine
    integer(c_int) function c_enabled() bind(c, name="takt_enabled")
      import :: c_int
    end function
    integer(c_int) function c_name_thread(name) bind(c, name="takt_name_thread")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    type(c_ptr) function c_options_new() bind(c, name="takt_options_new")
      import :: c_ptr
    end function
    integer(c_int) function c_options_set(options, name, text) bind(c, name="takt_options_set")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: name(*), text(*)
    end function
    subroutine c_options_free(options) bind(c, name="takt_options_free")
      import :: c_ptr
      type(c_ptr), value :: options
    end subroutine
    integer(c_int) function c_open(name, options) bind(c, name="takt_open")
      import :: c_int, c_char, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: options
    end function
    integer(c_int) function c_close() bind(c, name="takt_close")
      import :: c_int
    end function
    integer(c_int) function c_param(name, text) bind(c, name="takt_param")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*), text(*)
    end function
    integer(c_int) function c_param_int(name, number) bind(c, name="takt_param_int")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: number
    end function
    integer(c_int) function c_param_real(name, number) bind(c, name="takt_param_real")
      import :: c_int, c_char, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: number
    end function
    integer(c_int) function c_tag(name, text) bind(c, name="takt_tag")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*), text(*)
    end function
    integer(c_int) function c_group(name, number) bind(c, name="takt_group")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: number
    end function
    integer(c_int) function c_metric(name, number) bind(c, name="takt_metric")
      import :: c_int, c_char, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: number
    end function
    integer(c_int) function c_metric_at(name, number, step) bind(c, name="takt_metric_at")
      import :: c_int, c_char, c_double, c_int64_t
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: number
      integer(c_int64_t), value :: step
    end function
    integer(c_int) function c_step(number) bind(c, name="takt_step")
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: number
    end function
    integer(c_int) function c_fail() bind(c, name="takt_fail")
      import :: c_int
    end function
    integer(c_int) function c_print() bind(c, name="takt_print")
      import :: c_int
    end function
    type(c_ptr) function c_snapshot_json() bind(c, name="takt_snapshot_json")
      import :: c_ptr
    end function
    subroutine c_free(text) bind(c, name="takt_free")
      import :: c_ptr
      type(c_ptr), value :: text
    end subroutine
    type(c_ptr) function c_last_error() bind(c, name="takt_last_error")
      import :: c_ptr
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  !> Returns the key of a name; keep it outside of loops. `kind`: TAKT_ANY by default.
  type(takt_key) function takt_get_key(name, kind) result(key)
    character(*), intent(in) :: name
    integer(c_int), intent(in), optional :: kind
    integer(c_int) :: wanted
    wanted = TAKT_ANY
    if (present(kind)) wanted = kind
    key%c = c_get_key(c_text(name), wanted)
  end function

  type(takt_region) function takt_begin(key) result(region)
    type(takt_key), intent(in) :: key
    region = c_begin(key%c)
  end function

  type(takt_region) function takt_begin_every(key, n) result(region)
    type(takt_key), intent(in) :: key
    integer(c_int32_t), intent(in) :: n
    region = c_begin_every(key%c, n)
  end function

  subroutine takt_end(region, status)
    type(takt_region), intent(inout) :: region
    integer(c_int), intent(out), optional :: status
    call give(c_end(region), status)
  end subroutine

  subroutine takt_lap(region, key, status)
    type(takt_region), intent(inout) :: region
    type(takt_key), intent(in) :: key
    integer(c_int), intent(out), optional :: status
    call give(c_lap(region, key%c), status)
  end subroutine

  subroutine items_int64(region, n, status)
    type(takt_region), intent(in) :: region
    integer(int64), intent(in) :: n
    integer(c_int), intent(out), optional :: status
    call give(c_items(region, n), status)
  end subroutine

  subroutine items_int32(region, n, status)
    type(takt_region), intent(in) :: region
    integer(int32), intent(in) :: n
    integer(c_int), intent(out), optional :: status
    call give(c_items(region, int(n, int64)), status)
  end subroutine

  subroutine bytes_int64(region, n, status)
    type(takt_region), intent(in) :: region
    integer(int64), intent(in) :: n
    integer(c_int), intent(out), optional :: status
    call give(c_bytes(region, n), status)
  end subroutine

  subroutine bytes_int32(region, n, status)
    type(takt_region), intent(in) :: region
    integer(int32), intent(in) :: n
    integer(c_int), intent(out), optional :: status
    call give(c_bytes(region, int(n, int64)), status)
  end subroutine

  subroutine takt_record(key, ns, status)
    type(takt_key), intent(in) :: key
    integer(int64), intent(in) :: ns
    integer(c_int), intent(out), optional :: status
    call give(c_record(key%c, ns), status)
  end subroutine

  !> Starts the region of a scope; one that is open ends first.
  subroutine scope_begin(self, key)
    class(takt_scope), intent(inout) :: self
    type(takt_key), intent(in) :: key
    if (self%region%place /= 0) call takt_end(self%region)
    self%region = c_begin(key%c)
  end subroutine

  subroutine scope_end(self, status)
    class(takt_scope), intent(inout) :: self
    integer(c_int), intent(out), optional :: status
    call takt_end(self%region, status)
  end subroutine

  subroutine scope_items_32(self, n, status)
    class(takt_scope), intent(in) :: self
    integer(int32), intent(in) :: n
    integer(c_int), intent(out), optional :: status
    call items_int32(self%region, n, status)
  end subroutine

  subroutine scope_items_64(self, n, status)
    class(takt_scope), intent(in) :: self
    integer(int64), intent(in) :: n
    integer(c_int), intent(out), optional :: status
    call items_int64(self%region, n, status)
  end subroutine

  subroutine scope_leave(self)
    type(takt_scope), intent(inout) :: self
    if (self%region%place /= 0) call takt_end(self%region)
  end subroutine

  subroutine takt_set_enabled(on)
    logical, intent(in) :: on
    call c_set_enabled(merge(1_c_int, 0_c_int, on))
  end subroutine

  logical function takt_enabled()
    takt_enabled = c_enabled() /= 0
  end function

  subroutine takt_name_thread(name, status)
    character(*), intent(in) :: name
    integer(c_int), intent(out), optional :: status
    call give(c_name_thread(c_text(name)), status)
  end subroutine

  !> Fills options with the defaults and the environment's values.
  subroutine takt_new_options(options)
    type(takt_options), intent(out) :: options
    options%c = c_options_new()
  end subroutine

  subroutine options_set(self, name, text, status)
    class(takt_options), intent(inout) :: self
    character(*), intent(in) :: name, text
    integer(c_int), intent(out), optional :: status
    call give(c_options_set(self%c, c_text(name), c_text(text)), status)
  end subroutine

  subroutine options_free(self)
    type(takt_options), intent(inout) :: self
    call c_options_free(self%c)
    self%c = c_null_ptr
  end subroutine

  !> Opens the run of this process; without options, with the environment's.
  subroutine takt_open(name, options, status)
    character(*), intent(in) :: name
    type(takt_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    type(c_ptr) :: wanted
    wanted = c_null_ptr
    if (present(options)) wanted = options%c
    call give(c_open(c_text(name), wanted), status)
  end subroutine

  subroutine takt_close(status)
    integer(c_int), intent(out), optional :: status
    call give(c_close(), status)
  end subroutine

  subroutine param_text(name, text, status)
    character(*), intent(in) :: name, text
    integer(c_int), intent(out), optional :: status
    call give(c_param(c_text(name), c_text(text)), status)
  end subroutine

  subroutine param_int32(name, number, status)
    character(*), intent(in) :: name
    integer(int32), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    call give(c_param_int(c_text(name), int(number, int64)), status)
  end subroutine

  subroutine param_int64(name, number, status)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    call give(c_param_int(c_text(name), number), status)
  end subroutine

  subroutine param_real32(name, number, status)
    character(*), intent(in) :: name
    real(real32), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    character(32) :: text, form
    real(real32) :: back
    real(real64) :: shown
    integer :: digits
    do digits = 1, 9  ! the shortest text of the number: 0.1 is 0.10000000149011612 as a real64
      write (form, '("(es24.", i0, "e3)")') digits - 1
      write (text, form) number
      read (text, *) back
      if (.not. abs(back - number) > 0) exit
    end do
    read (text, *) shown
    call give(c_param_real(c_text(name), shown), status)
  end subroutine

  subroutine param_real64(name, number, status)
    character(*), intent(in) :: name
    real(real64), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    call give(c_param_real(c_text(name), number), status)
  end subroutine

  subroutine takt_tag(name, text, status)
    character(*), intent(in) :: name, text
    integer(c_int), intent(out), optional :: status
    call give(c_tag(c_text(name), c_text(text)), status)
  end subroutine

  subroutine takt_group(name, number, status)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    call give(c_group(c_text(name), number), status)
  end subroutine

  subroutine metric_real64(name, number, step, status)
    character(*), intent(in) :: name
    real(real64), intent(in) :: number
    integer(int64), intent(in), optional :: step
    integer(c_int), intent(out), optional :: status
    if (present(step)) then
      call give(c_metric_at(c_text(name), number, step), status)
    else
      call give(c_metric(c_text(name), number), status)
    end if
  end subroutine

  subroutine metric_real32(name, number, step, status)
    character(*), intent(in) :: name
    real(real32), intent(in) :: number
    integer(int64), intent(in), optional :: step
    integer(c_int), intent(out), optional :: status
    call metric_real64(name, real(number, real64), step, status)
  end subroutine

  subroutine step_int32(number, status)
    integer(int32), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    call give(c_step(int(number, int64)), status)
  end subroutine

  subroutine step_int64(number, status)
    integer(int64), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    call give(c_step(number), status)
  end subroutine

  subroutine takt_fail(status)
    integer(c_int), intent(out), optional :: status
    call give(c_fail(), status)
  end subroutine

  subroutine takt_print(status)
    integer(c_int), intent(out), optional :: status
    call give(c_print(), status)
  end subroutine

  function takt_snapshot_json() result(text)
    character(:), allocatable :: text
    type(c_ptr) :: json
    json = c_snapshot_json()
    text = text_of(json)
    call c_free(json)
  end function

  !> Returns the text of this thread's last error, empty for none.
  function takt_last_error() result(text)
    character(:), allocatable :: text
    text = text_of(c_last_error())
  end function

  subroutine give(code, status)
    integer(c_int), intent(in) :: code
    integer(c_int), intent(out), optional :: status
    if (present(status)) status = code
  end subroutine

  pure function c_text(text) result(ended)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: ended
    ended = trim(text) // c_null_char
  end function

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: all(:)
    integer :: at
    if (.not. c_associated(pointer)) then
      text = ""
      return
    end if
    call c_f_pointer(pointer, all, [c_strlen(pointer)])
    allocate (character(size(all)) :: text)
    do at = 1, size(all)
      text(at:at) = all(at)
    end do
  end function
end module
