;; x W^T for some tokens, W a matrix of packed.js in 4 or 8 bits.
;; It reads a row of W block by block: 32 weights are unpacked into eight vectors of four float32, and
;; each token's 32 channels are multiplied with them. A token has four sums, which lie in memory.
;; Addresses are in bytes. x is (blocks, tokens, 32), y (tokens, rows), and the sums are 0 before and
;; after. packed.js holds the bytes of this text, and tests/real_model/test_packed.py assembles it again.
(module
  (import "m" "memory" (memory 1))
  (func (export "product")
    (param $bits i32) (param $rows i32) (param $blocks i32) ;; blocks in a row
    (param $w i32) (param $first_x i32) (param $tokens i32) (param $first_sum i32) (param $first_y i32)
    (local $x i32) (local $sum i32) (local $y i32) ;; where x and the sums are read, and y is written
    (local $row i32) (local $block i32) (local $token i32) ;; how many are left
    (local $scale v128) (local $minimum v128)
    (local $bytes v128) (local $low v128) (local $high v128) (local $pairs v128) ;; 16, 16, 16, 8 numbers
    (local $w0 v128) (local $w1 v128) (local $w2 v128) (local $w3 v128) ;; the weights
    (local $w4 v128) (local $w5 v128) (local $w6 v128) (local $w7 v128)
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
            (local.set $high (i8x16.shr_u (local.get $bytes) (i32.const 4)))
            (local.set $low
              (v128.and
                (local.get $bytes)
                (v128.const i8x16 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15)))
            (local.set $pairs (i16x8.extend_low_i8x16_u (local.get $low)))
            (local.set $w0
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $w1
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $pairs (i16x8.extend_high_i8x16_u (local.get $low)))
            (local.set $w2
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $w3
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $pairs (i16x8.extend_low_i8x16_u (local.get $high)))
            (local.set $w4
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $w5
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $pairs (i16x8.extend_high_i8x16_u (local.get $high)))
            (local.set $w6
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $w7
              (f32x4.add
                (f32x4.mul
                  (local.get $scale)
                  (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs))))
                (local.get $minimum)))
            (local.set $w (i32.add (local.get $w) (i32.const 24))))
          (else
            (local.set $bytes (v128.load offset=4 align=4 (local.get $w)))
            (local.set $pairs (i16x8.extend_low_i8x16_s (local.get $bytes)))
            (local.set $w0
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs)))))
            (local.set $w1
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs)))))
            (local.set $pairs (i16x8.extend_high_i8x16_s (local.get $bytes)))
            (local.set $w2
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs)))))
            (local.set $w3
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs)))))
            (local.set $bytes (v128.load offset=20 align=4 (local.get $w)))
            (local.set $pairs (i16x8.extend_low_i8x16_s (local.get $bytes)))
            (local.set $w4
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs)))))
            (local.set $w5
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs)))))
            (local.set $pairs (i16x8.extend_high_i8x16_s (local.get $bytes)))
            (local.set $w6
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $pairs)))))
            (local.set $w7
              (f32x4.mul
                (local.get $scale)
                (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $pairs)))))
            (local.set $w (i32.add (local.get $w) (i32.const 36)))))
        (local.set $sum (local.get $first_sum))
        (local.set $token (local.get $tokens))
        (loop $each_token
          (local.set $even (f32x4.mul (local.get $w0) (v128.load align=4 (local.get $x))))
          (local.set $odd (f32x4.mul (local.get $w1) (v128.load offset=16 align=4 (local.get $x))))
          (local.set $even
            (f32x4.add (local.get $even) (f32x4.mul (local.get $w2) (v128.load offset=32 align=4 (local.get $x)))))
          (local.set $odd
            (f32x4.add (local.get $odd) (f32x4.mul (local.get $w3) (v128.load offset=48 align=4 (local.get $x)))))
          (local.set $even
            (f32x4.add (local.get $even) (f32x4.mul (local.get $w4) (v128.load offset=64 align=4 (local.get $x)))))
          (local.set $odd
            (f32x4.add (local.get $odd) (f32x4.mul (local.get $w5) (v128.load offset=80 align=4 (local.get $x)))))
          (local.set $even
            (f32x4.add (local.get $even) (f32x4.mul (local.get $w6) (v128.load offset=96 align=4 (local.get $x)))))
          (local.set $odd
            (f32x4.add (local.get $odd) (f32x4.mul (local.get $w7) (v128.load offset=112 align=4 (local.get $x)))))
          (v128.store
            (local.get $sum)
            (f32x4.add
              (v128.load (local.get $sum))
              (f32x4.add (local.get $even) (local.get $odd))))
          (local.set $x (i32.add (local.get $x) (i32.const 128)))
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
