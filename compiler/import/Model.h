//===- Model.h - a graph with the values of its constants ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace tenon {

/// Values of constant inputs of a graph, by tensor id: elements in the dtype of
/// the tensor with its strides, little endian, two of 4 bits in a byte. Most
/// are views of a file that is mapped, at any address. Copies share the memory.
class Constants {
public:
  /// A view of memory that keep() was given, or that outlives all copies.
  void add(uint64_t id, std::span<const std::byte> bytes) { views[id] = bytes; }
  /// Memory of its own.
  void add(uint64_t id, std::vector<std::byte> bytes) {
    auto owned = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    views[id] = *owned;
    keep(std::move(owned));
  }
  void keep(std::shared_ptr<const void> owner) {
    owners.push_back(std::move(owner));
  }
  /// Null: the tensor has no values.
  const std::span<const std::byte> *find(uint64_t id) const {
    auto found = views.find(id);
    return found == views.end() ? nullptr : &found->second;
  }
  const std::map<uint64_t, std::span<const std::byte>> &all() const {
    return views;
  }

private:
  std::map<uint64_t, std::span<const std::byte>> views;
  std::vector<std::shared_ptr<const void>> owners;
};

/// An output of which the first `count` entries along `axis` count; that is a
/// scalar output.
struct CountedOutput {
  uint64_t id, count;
  int axis;
};

struct Model {
  graph::Graph graph;
  Constants constants;
  std::vector<CountedOutput> counted;
  /// Inputs of a model of ONNX that no operation reads, by name: they are not
  /// in the graph, and what is given for them is ignored.
  std::vector<std::string> unread;
  /// Whether the model computes with double, which Tenon does in f32.
  bool hasDoubles = false;
};

} // namespace tenon
