;; The product C += A B of matrix.js.
;; It multiplies and adds with one instruction, which only some browsers have.
;; m is a multiple of 4 and n of 8: a tile of 4 x 8 sums stays in eight vectors of four numbers.
;; Addresses and distances are in bytes; the columns of B and those of C lie side by side.
;; kernels.js holds its bytes, and tests/tab_trainer/test_kernels.py assembles them again.
(module
  (import "m" "m" (memory 1))
  (func (export "f")
    (param $c i32) (param $a i32) (param $b i32) ;; where the first entries are
    (param $m i32) (param $n i32) (param $k i32)
    (param $c_row i32) (param $a_row i32) (param $a_column i32) (param $b_row i32) ;; distances
    (local $i i32) (local $j i32) (local $p i32)
    (local $at i32) ;; where B is read, then where C is written
    (local $a0 i32) (local $a1 i32) (local $a2 i32) (local $a3 i32) ;; where the rows of A are read
    (local $b_low v128) (local $b_high v128) ;; eight columns of B
    (local $entry v128) ;; one number of A, four times
    (local $low0 v128) (local $high0 v128) ;; the sums
    (local $low1 v128) (local $high1 v128)
    (local $low2 v128) (local $high2 v128)
    (local $low3 v128) (local $high3 v128)
    (local.set $i (i32.const 0))
    (loop $rows
      (local.set $j (i32.const 0))
      (loop $columns
        (local.set $a0
          (i32.add
            (local.get $a)
            (i32.mul (i32.add (local.get $i) (i32.const 0)) (local.get $a_row))))
        (local.set $a1
          (i32.add
            (local.get $a)
            (i32.mul (i32.add (local.get $i) (i32.const 1)) (local.get $a_row))))
        (local.set $a2
          (i32.add
            (local.get $a)
            (i32.mul (i32.add (local.get $i) (i32.const 2)) (local.get $a_row))))
        (local.set $a3
          (i32.add
            (local.get $a)
            (i32.mul (i32.add (local.get $i) (i32.const 3)) (local.get $a_row))))
        (local.set $at (i32.add (local.get $b) (i32.mul (local.get $j) (i32.const 4))))
        (local.set $low0 (v128.const i32x4 0 0 0 0))
        (local.set $high0 (v128.const i32x4 0 0 0 0))
        (local.set $low1 (v128.const i32x4 0 0 0 0))
        (local.set $high1 (v128.const i32x4 0 0 0 0))
        (local.set $low2 (v128.const i32x4 0 0 0 0))
        (local.set $high2 (v128.const i32x4 0 0 0 0))
        (local.set $low3 (v128.const i32x4 0 0 0 0))
        (local.set $high3 (v128.const i32x4 0 0 0 0))
        (local.set $p (i32.const 0))
        (loop $sums
          (local.set $b_low (v128.load align=4 (local.get $at)))
          (local.set $b_high (v128.load offset=16 align=4 (local.get $at)))
          (local.set $entry (v128.load32_splat (local.get $a0)))
          (local.set $low0
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_low) (local.get $low0)))
          (local.set $high0
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_high) (local.get $high0)))
          (local.set $a0 (i32.add (local.get $a0) (local.get $a_column)))
          (local.set $entry (v128.load32_splat (local.get $a1)))
          (local.set $low1
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_low) (local.get $low1)))
          (local.set $high1
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_high) (local.get $high1)))
          (local.set $a1 (i32.add (local.get $a1) (local.get $a_column)))
          (local.set $entry (v128.load32_splat (local.get $a2)))
          (local.set $low2
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_low) (local.get $low2)))
          (local.set $high2
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_high) (local.get $high2)))
          (local.set $a2 (i32.add (local.get $a2) (local.get $a_column)))
          (local.set $entry (v128.load32_splat (local.get $a3)))
          (local.set $low3
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_low) (local.get $low3)))
          (local.set $high3
            (f32x4.relaxed_madd (local.get $entry) (local.get $b_high) (local.get $high3)))
          (local.set $a3 (i32.add (local.get $a3) (local.get $a_column)))
          (local.set $at (i32.add (local.get $at) (local.get $b_row)))
          (local.set $p (i32.add (local.get $p) (i32.const 1)))
          (br_if $sums (i32.lt_s (local.get $p) (local.get $k))))
        (local.set $at
          (i32.add
            (i32.add
              (local.get $c)
              (i32.mul (i32.add (local.get $i) (i32.const 0)) (local.get $c_row)))
            (i32.mul (local.get $j) (i32.const 4))))
        (v128.store align=4
          (local.get $at)
          (f32x4.add (v128.load align=4 (local.get $at)) (local.get $low0)))
        (v128.store offset=16 align=4
          (local.get $at)
          (f32x4.add (v128.load offset=16 align=4 (local.get $at)) (local.get $high0)))
        (local.set $at
          (i32.add
            (i32.add
              (local.get $c)
              (i32.mul (i32.add (local.get $i) (i32.const 1)) (local.get $c_row)))
            (i32.mul (local.get $j) (i32.const 4))))
        (v128.store align=4
          (local.get $at)
          (f32x4.add (v128.load align=4 (local.get $at)) (local.get $low1)))
        (v128.store offset=16 align=4
          (local.get $at)
          (f32x4.add (v128.load offset=16 align=4 (local.get $at)) (local.get $high1)))
        (local.set $at
          (i32.add
            (i32.add
              (local.get $c)
              (i32.mul (i32.add (local.get $i) (i32.const 2)) (local.get $c_row)))
            (i32.mul (local.get $j) (i32.const 4))))
        (v128.store align=4
          (local.get $at)
          (f32x4.add (v128.load align=4 (local.get $at)) (local.get $low2)))
        (v128.store offset=16 align=4
          (local.get $at)
          (f32x4.add (v128.load offset=16 align=4 (local.get $at)) (local.get $high2)))
        (local.set $at
          (i32.add
            (i32.add
              (local.get $c)
              (i32.mul (i32.add (local.get $i) (i32.const 3)) (local.get $c_row)))
            (i32.mul (local.get $j) (i32.const 4))))
        (v128.store align=4
          (local.get $at)
          (f32x4.add (v128.load align=4 (local.get $at)) (local.get $low3)))
        (v128.store offset=16 align=4
          (local.get $at)
          (f32x4.add (v128.load offset=16 align=4 (local.get $at)) (local.get $high3)))
        (local.set $j (i32.add (local.get $j) (i32.const 8)))
        (br_if $columns (i32.lt_s (local.get $j) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $rows (i32.lt_s (local.get $i) (local.get $m))))))
