// SPDX-License-Identifier: Apache-2.0
// The beginning of kernels over windows.

// The part of an axis covered by a window: positions [begin, end) of the window, whose position 0
// is at `first` of the axis.
struct Extent {
  I first;
  I begin;
  I end;

  __device__ __forceinline__ I size() const { return end > begin ? end - begin : 0; }
};

__device__ __forceinline__ Extent extent_of(I output, i64 step, i64 low, i64 window, i64 in) {
  Extent extent;
  extent.first = output * (I)step - (I)low;
  extent.begin = extent.first < 0 ? -extent.first : 0;
  extent.end = (I)in - extent.first < (I)window ? (I)in - extent.first : (I)window;
  return extent;
}

// The windows that cover a position of an axis.
struct Covering {
  I begin;
  I end;
};

__device__ __forceinline__ Covering covering(I position, i64 step, i64 low, i64 window, i64 out) {
  const I at = position + (I)low;
  Covering windows;
  windows.begin = at < (I)window ? 0 : (at - (I)window) / (I)step + 1;
  windows.end = at / (I)step + 1 < (I)out ? at / (I)step + 1 : (I)out;
  return windows;
}

// The location of vector number `vector` in an array whose axes are batch, three spatial ones and
// channels, of which there are `depth`.
struct Place {
  I n, at0, at1, at2, c;
};

__device__ __forceinline__ Place place_at(I vector, i64 size0, i64 size1, i64 size2, i64 depth) {
  Place place;
  const I vectors = (I)depth / W;
  place.c = vector % vectors * W;
  I rest = vector / vectors;
  place.at2 = rest % (I)size2;
  rest /= (I)size2;
  place.at1 = rest % (I)size1;
  rest /= (I)size1;
  place.at0 = rest % (I)size0;
  place.n = rest / (I)size0;
  return place;
}
