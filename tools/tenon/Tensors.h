//===- Tensors.h - tensors between command line and code --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Specifications of inputs, names of tensors, and memory as compiled code sees
// it: in the dtype and the strides of the graph.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

/// `NAME=[SHAPExDTYPE=]SOURCE`, or `NAME=SHAPExDTYPE` (filled as by default). A
/// source is `@FILE`, `cast:@FILE`, `rand:SEED`, `ones`, `zeros` or `iota`.
/// `@FILE.npz` and `cast:@FILE.npz` without a name mean all arrays of the file.
struct TensorSpec {
  enum class Source { fill, file, random, ones, zeros, iota };

  std::string name; // empty: all arrays of an archive
  std::optional<graph::Dims> shape;
  std::optional<graph::DType> dtype;
  Source source = Source::fill;
  std::string path;  // of a file
  bool cast = false; // a file may have another type
  uint64_t seed = 0; // of random
  /// What openFiles read: a .npy file, or one that an archive holds; the shape.
  std::shared_ptr<const std::string> array = {};
  std::optional<graph::Dims> fileShape = {};

  bool isArchive() const { return path.ends_with(".npz"); }
};

/// Errors: BadOption.
Expected<TensorSpec> parseTensorSpec(std::string_view text);

/// `NAME=@FILE`, `@FILE.npz` or, where `mayCast`, the same with `cast:`.
/// Errors: BadOption; `option` is for messages.
Expected<TensorSpec> parseFileSpec(std::string_view text,
                                   std::string_view option,
                                   bool mayCast = false);

/// Opens the files of `specs`: there is one spec for each array of an archive
/// that has no name. Errors: those of reading, BadTensorData, and UnknownTensor
/// for a name that an archive lacks.
Expected<std::vector<TensorSpec>> openFiles(std::vector<TensorSpec> specs);

/// The tensor that `name` means: an id, `op` (its first result), or `op.role`
/// with the role of an operand or result in the operation table.  Errors:
/// UnknownTensor, with names that would do.
Expected<uint64_t> resolveTensor(const graph::Graph &graph,
                                 std::string_view name);
/// A readable name: `fc1.weights`; the id when there is none.
std::string describeTensor(const graph::Graph &graph, uint64_t id);
/// The same without the id, for names of arrays: `fc1.weights`.
std::string plainName(const graph::Graph &graph, uint64_t id);

/// The values `spec` asks for; its source is not `fill`.  `tensor` has a known
/// shape.  Files must have that shape, the type that tensors of its dtype are
/// written with, unless a cast is asked for, and values that the dtype can
/// hold; fractions of floats are rounded. Errors: BadTensorData, and those of
/// readNpy.
Expected<reference::Tensor> makeTensor(const TensorSpec &spec,
                                       const graph::LogicalTensor &tensor);

/// Memory of one strided tensor, aligned to 64 bytes, between guard bytes.
/// Before anything is written all bytes are 0xFF: floats are NaN.
class TensorBuffer {
public:
  /// Errors: OutOfMemory, BadTensorData (strides that do not fit).
  static Expected<TensorBuffer> allocate(graph::DType dtype, graph::Dims shape,
                                         graph::Dims strides);

  void *data() const { return memory.get() + kGuard; }
  size_t bytes() const { return size; }
  const graph::Dims &shape() const { return dims; }

  std::vector<Error> write(const reference::Tensor &tensor);
  Expected<reference::Tensor> read() const;
  /// All bytes 0xFF again.
  void clear();
  /// Empty, or what was written outside the elements: before, after, or in
  /// the gaps that strides leave.  Requires that elements were written.
  std::string damage() const;
  /// Changes when any byte does (with all but certainty).
  uint64_t hash() const;

private:
  static constexpr size_t kGuard = 64;
  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };

  std::span<std::byte> span() const { return {memory.get() + kGuard, size}; }

  graph::DType dtype = graph::DType::undef;
  graph::Dims dims, strides;
  size_t size = 0;
  std::unique_ptr<std::byte[], Free> memory;
};

} // namespace tenon::cli
