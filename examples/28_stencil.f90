! SPDX-FileCopyrightText: The Takt authors
! SPDX-License-Identifier: BSD-3-Clause

!> Heat spreads over a plate that several ranks share by rows. Inside, a small network learns the change of a cell from
!> its neighbourhood while the model runs. One rank may be slow:
!>     mpirun -n 4 example_28_stencil [slow rank] [milliseconds]
program stencil
  use takt
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  integer, parameter :: nx = 128, rows = 32, steps = 120, units = 8
  real(real64), parameter :: rate = 0.05d0
  real(real64) :: now(nx, 0:rows + 1), next(nx, 0:rows + 1)
  real(real64) :: w1(6, units), w2(units), sums(7 * units + 1), loss, first_loss
  real(real64) :: hidden(units, nx, rows), error(nx, rows) = 0
  type(takt_key) :: step_key, physics_key, forward_key, backward_key, halo_key, gradient_key
  type(takt_options) :: options
  integer :: rank, ranks, step, status, slow, by_ms

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  slow = argument(1, -1)
  by_ms = argument(2, 0)
  ! [snippet: options]
  call takt_new_options(options)
  if (takt_mpi_options(options%c, MPI_COMM_WORLD%MPI_VAL) /= TAKT_OK) stop 1
  call takt_open("stencil", options, status)
  ! [end]
  if (status /= TAKT_OK) stop 1
  step_key = takt_get_key("Batch")  ! its end makes a row, as of a training step
  physics_key = takt_get_key("physics", TAKT_COMPUTE)
  forward_key = takt_get_key("Forward")
  backward_key = takt_get_key("Backward")
  halo_key = takt_get_key("halo", TAKT_COMM)
  gradient_key = takt_get_key("gradients", TAKT_COMM)
  call takt_param("ranks", ranks)
  call takt_param("rate", rate)
  call start()
  do step = 1, steps
    call one_step()
    if (step == 1) first_loss = loss
  end do
  status = takt_mpi_reduce(2000)  ! on all ranks: the table of rank 0 describes the job
  call takt_close()
  if (rank == 0) print '(a, es9.2, a, es9.2)', "loss ", first_loss, " -> ", loss
  call MPI_Finalize()
  if (status /= TAKT_OK .or. loss > first_loss) stop 1

contains

  integer function argument(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(16) :: word
    argument = otherwise
    if (command_argument_count() < place) return
    call get_command_argument(place, word)
    read (word, *) argument
  end function

  subroutine start()
    integer :: x, y, unit
    do y = 0, rows + 1
      do x = 1, nx
        now(x, y) = merge(1d0, 0d0, mod(x / 16 + (rank * rows + y) / 16, 2) == 0)
      end do
    end do
    next = now
    do unit = 1, units
      w1(:, unit) = [(0.4d0 * sin(7d0 * unit + 3d0 * x), x = 1, 6)]
      w2(unit) = 0.2d0 * cos(5d0 * unit)
    end do
  end subroutine

  ! [snippet: step]
  subroutine one_step()
    type(takt_scope) :: batch, phase  ! end with the subroutine, if not before
    call batch%begin(step_key)
    call phase%begin(halo_key)
    call exchange()
    call takt_lap(phase%region, physics_key)
    call advance()
    call takt_lap(phase%region, forward_key)
    call predict()
    call takt_lap(phase%region, backward_key)
    call add_gradients()
    call takt_lap(phase%region, gradient_key)
    call MPI_Allreduce(MPI_IN_PLACE, sums, size(sums), MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call descend()
    call batch%items(nx * rows)
    call takt_metric("loss", loss)
  end subroutine
  ! [end]

  subroutine exchange()
    integer :: up, down
    up = merge(MPI_PROC_NULL, rank - 1, rank == 0)
    down = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
    call MPI_Sendrecv(now(:, 1), nx, MPI_DOUBLE_PRECISION, up, 0, now(:, rows + 1), nx, MPI_DOUBLE_PRECISION, down, 0, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(now(:, rows), nx, MPI_DOUBLE_PRECISION, down, 1, now(:, 0), nx, MPI_DOUBLE_PRECISION, up, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine

  subroutine advance()
    integer :: x, y
    integer(int64) :: tick, begin, per_second
    do y = 1, rows
      do x = 2, nx - 1
        next(x, y) = now(x, y) + 0.2d0 * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4 * now(x, y))
      end do
    end do
    if (rank /= slow) return
    call system_clock(begin, per_second)
    do
      call system_clock(tick)
      if ((tick - begin) * 1000 >= by_ms * per_second) exit
    end do
  end subroutine

  !> The network's change of each cell, compared with the model's.
  subroutine predict()
    integer :: x, y
    do y = 1, rows
      do x = 2, nx - 1
        hidden(:, x, y) = tanh(matmul(inputs(x, y), w1))
        error(x, y) = dot_product(hidden(:, x, y), w2) - (next(x, y) - now(x, y))
      end do
    end do
  end subroutine

  subroutine add_gradients()
    real(real64) :: g1(6, units), g2(units)
    integer :: x, y, unit
    g1 = 0
    g2 = 0
    do y = 1, rows
      do x = 2, nx - 1
        g2 = g2 + error(x, y) * hidden(:, x, y)
        do unit = 1, units
          g1(:, unit) = g1(:, unit) + error(x, y) * w2(unit) * (1 - hidden(unit, x, y)**2) * inputs(x, y)
        end do
      end do
    end do
    sums = [reshape(g1, [6 * units]), g2, sum(error**2)] / (ranks * rows * (nx - 2))
  end subroutine

  pure function inputs(x, y)
    integer, intent(in) :: x, y
    real(real64) :: inputs(6)
    inputs = [now(x, y), now(x - 1, y), now(x + 1, y), now(x, y - 1), now(x, y + 1), 1d0]
  end function

  subroutine descend()
    w1 = w1 - rate * reshape(sums(1:6 * units), [6, units])
    w2 = w2 - rate * sums(6 * units + 1:7 * units)
    loss = sums(size(sums))
    now = next
  end subroutine
end program
