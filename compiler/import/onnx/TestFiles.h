//===- TestFiles.h - small models in files ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <protozero/pbf_writer.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace tenon::onnx::test {

/// Where a weight of a file has its elements: in the file, or, if `location`
/// names one, in another file.
struct WeightPlace {
  std::string location = {};
  std::string offset = {}, length = {}; // left out if empty
};

/// The bytes of a model: y = x + w, x of [n, 3] and w = 1, 2, 3, in f32. Nobody
/// reads its second input, z. `opType` may be another operator than Add.
inline std::string addWeightModel(const WeightPlace &place = {},
                                  const std::string &opType = "Add") {
  using Writer = protozero::pbf_writer;
  auto port = [](const std::string &name, bool isNamed) {
    std::string first, second, shape, tensor, type, info;
    if (isNamed)
      Writer(first).add_string(2, "n");
    Writer(second).add_int64(1, 3);
    Writer s(shape);
    s.add_message(1, first);
    s.add_message(1, second);
    Writer t(tensor);
    t.add_int32(1, 1);
    t.add_message(2, shape);
    Writer(type).add_message(1, tensor);
    Writer i(info);
    i.add_string(1, name);
    i.add_message(2, type);
    return info;
  };
  std::string weight, node, graph, set, model;
  Writer w(weight);
  w.add_int64(1, 3);
  w.add_int32(2, 1);
  w.add_string(8, "w");
  const float elements[] = {1, 2, 3};
  if (place.location.empty()) {
    w.add_bytes(9, reinterpret_cast<const char *>(elements), sizeof elements);
  } else {
    w.add_int32(14, 1);
    for (const auto &[key, value] : {std::pair{"location", place.location},
                                     {"offset", place.offset},
                                     {"length", place.length}}) {
      if (value.empty())
        continue;
      std::string entry;
      Writer e(entry);
      e.add_string(1, key);
      e.add_string(2, value);
      w.add_message(13, entry);
    }
  }
  Writer n(node);
  n.add_string(1, "x");
  n.add_string(1, "w");
  n.add_string(2, "y");
  n.add_string(4, opType);
  Writer g(graph);
  g.add_message(1, node);
  g.add_message(5, weight);
  g.add_message(11, port("x", true));
  g.add_message(11, port("z", true));
  g.add_message(12, port("y", true));
  Writer(set).add_int64(2, 17);
  Writer m(model);
  m.add_int64(1, 8);
  m.add_message(8, set);
  m.add_message(7, graph);
  return model;
}

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace tenon::onnx::test
