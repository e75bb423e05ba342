;; x W^T for some tokens, W a matrix of packed.js in 4 or 8 bits.
;;
;; It reads a row of W block by block. The 32 numbers of a block become eight vectors of four
;; float32, and each token's 32 channels are multiplied with them: its sums grow by
;; scale * (numbers * channels) + minimum * channels. A token has four sums, which lie in memory.
;; A vector takes the same bits of four words of 32 bits, so that it holds the numbers b, b + 4,
;; b + 8 and b + 12 of a half of a block; x comes in this order. It is (blocks, tokens, 36): 32
;; channels, and the sums of those that meet in a lane. y is (tokens, rows). The sums are 0 before
;; and after. Addresses are in bytes.
;; packed.js has the bytes of this program; tests/real_model/test_packed.py assembles it again.
(module
  (import "m" "memory" (memory 1))
  (func (export "product")
    (param $bits i32) (param $rows i32) (param $blocks i32) ;; blocks in a row
    (param $w i32) (param $first_x i32) (param $tokens i32)
    (param $first_sum i32) (param $first_y i32)
    (local $x i32) (local $sum i32) (local $y i32) ;; what is read or written next
    (local $row i32) (local $block i32) (local $token i32) ;; how many are left
    (local $scale v128) (local $minimum v128)
    (local $bytes v128) ;; four words
    (local $n0 v128) (local $n1 v128) (local $n2 v128) (local $n3 v128) ;; the numbers
    (local $n4 v128) (local $n5 v128) (local $n6 v128) (local $n7 v128)
    (local $even v128) (local $odd v128) ;; two sums are quicker than one
    (local.set $row (local.get $rows))
    (loop $each_row
      (local.set $x (local.get $first_x))
      (local.set $block (local.get $blocks))
      (loop $each_block
        (local.set $scale (v128.load32_splat (local.get $w)))
        (if (i32.eq (local.get $bits) (i32.const 4))
          (then
            (local.set $minimum (v128.load32_splat offset=4 (local.get $w)))
            (local.set $bytes (v128.load offset=8 align=4 (local.get $w)))
            (local.set $n0
              (f32x4.convert_i32x4_s
                (v128.and (local.get $bytes) (v128.const i32x4 15 15 15 15))))
            (local.set $n1
              (f32x4.convert_i32x4_s
                (v128.and
                  (i32x4.shr_u (local.get $bytes) (i32.const 8))
                  (v128.const i32x4 15 15 15 15))))
            (local.set $n2
              (f32x4.convert_i32x4_s
                (v128.and
                  (i32x4.shr_u (local.get $bytes) (i32.const 16))
                  (v128.const i32x4 15 15 15 15))))
            (local.set $n3
              (f32x4.convert_i32x4_s
                (v128.and
                  (i32x4.shr_u (local.get $bytes) (i32.const 24))
                  (v128.const i32x4 15 15 15 15))))
            (local.set $n4
              (f32x4.convert_i32x4_s
                (v128.and
                  (i32x4.shr_u (local.get $bytes) (i32.const 4))
                  (v128.const i32x4 15 15 15 15))))
            (local.set $n5
              (f32x4.convert_i32x4_s
                (v128.and
                  (i32x4.shr_u (local.get $bytes) (i32.const 12))
                  (v128.const i32x4 15 15 15 15))))
            (local.set $n6
              (f32x4.convert_i32x4_s
                (v128.and
                  (i32x4.shr_u (local.get $bytes) (i32.const 20))
                  (v128.const i32x4 15 15 15 15))))
            (local.set $n7 (f32x4.convert_i32x4_s (i32x4.shr_u (local.get $bytes) (i32.const 28))))
            (local.set $w (i32.add (local.get $w) (i32.const 24))))
          (else
            (local.set $minimum (v128.const i32x4 0 0 0 0))
            (local.set $bytes (v128.load offset=4 align=4 (local.get $w)))
            (local.set $n0
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (i32x4.shl (local.get $bytes) (i32.const 24)) (i32.const 24))))
            (local.set $n1
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (i32x4.shl (local.get $bytes) (i32.const 16)) (i32.const 24))))
            (local.set $n2
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (i32x4.shl (local.get $bytes) (i32.const 8)) (i32.const 24))))
            (local.set $n3
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (local.get $bytes) (i32.const 24))))
            (local.set $bytes (v128.load offset=20 align=4 (local.get $w)))
            (local.set $n4
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (i32x4.shl (local.get $bytes) (i32.const 24)) (i32.const 24))))
            (local.set $n5
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (i32x4.shl (local.get $bytes) (i32.const 16)) (i32.const 24))))
            (local.set $n6
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (i32x4.shl (local.get $bytes) (i32.const 8)) (i32.const 24))))
            (local.set $n7
              (f32x4.convert_i32x4_s
                (i32x4.shr_s (local.get $bytes) (i32.const 24))))
            (local.set $w (i32.add (local.get $w) (i32.const 36)))))
        (local.set $sum (local.get $first_sum))
        (local.set $token (local.get $tokens))
        (loop $each_token
          (local.set $even (f32x4.mul (local.get $n0) (v128.load align=4 (local.get $x))))
          (local.set $odd (f32x4.mul (local.get $n1) (v128.load offset=16 align=4 (local.get $x))))
          (local.set $even
            (f32x4.add
              (local.get $even)
              (f32x4.mul (local.get $n2) (v128.load offset=32 align=4 (local.get $x)))))
          (local.set $odd
            (f32x4.add
              (local.get $odd)
              (f32x4.mul (local.get $n3) (v128.load offset=48 align=4 (local.get $x)))))
          (local.set $even
            (f32x4.add
              (local.get $even)
              (f32x4.mul (local.get $n4) (v128.load offset=64 align=4 (local.get $x)))))
          (local.set $odd
            (f32x4.add
              (local.get $odd)
              (f32x4.mul (local.get $n5) (v128.load offset=80 align=4 (local.get $x)))))
          (local.set $even
            (f32x4.add
              (local.get $even)
              (f32x4.mul (local.get $n6) (v128.load offset=96 align=4 (local.get $x)))))
          (local.set $odd
            (f32x4.add
              (local.get $odd)
              (f32x4.mul (local.get $n7) (v128.load offset=112 align=4 (local.get $x)))))
          (v128.store
            (local.get $sum)
            (f32x4.add
              (f32x4.add
                (v128.load (local.get $sum))
                (f32x4.mul
                  (local.get $minimum)
                  (v128.load offset=128 align=4 (local.get $x))))
              (f32x4.mul
                (local.get $scale)
                (f32x4.add (local.get $even) (local.get $odd)))))
          (local.set $x (i32.add (local.get $x) (i32.const 144)))
          (local.set $sum (i32.add (local.get $sum) (i32.const 16)))
          (local.set $token (i32.sub (local.get $token) (i32.const 1)))
          (br_if $each_token (local.get $token)))
        (local.set $block (i32.sub (local.get $block) (i32.const 1)))
        (br_if $each_block (local.get $block)))
      (local.set $sum (local.get $first_sum))
      (local.set $token (local.get $tokens))
      (local.set $y (local.get $first_y))
      (loop $each_token
        (local.set $even (v128.load (local.get $sum)))
        (f32.store
          (local.get $y)
          (f32.add
            (f32.add
              (f32x4.extract_lane 0 (local.get $even))
              (f32x4.extract_lane 1 (local.get $even)))
            (f32.add
              (f32x4.extract_lane 2 (local.get $even))
              (f32x4.extract_lane 3 (local.get $even)))))
        (v128.store (local.get $sum) (v128.const i32x4 0 0 0 0))
        (local.set $y
          (i32.add (local.get $y) (i32.mul (local.get $rows) (i32.const 4))))
        (local.set $sum (i32.add (local.get $sum) (i32.const 16)))
        (local.set $token (i32.sub (local.get $token) (i32.const 1)))
        (br_if $each_token (local.get $token)))
      (local.set $first_y (i32.add (local.get $first_y) (i32.const 4)))
      (local.set $row (i32.sub (local.get $row) (i32.const 1)))
      (br_if $each_row (local.get $row)))))
