//===- Header.cpp - the C header of a compiled file -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/aot/Stubs.h"
#include "dialects/graph/SizeFacts.h"

#include "llvm/ADT/StringExtras.h"

namespace tenon::codegen {

namespace {

struct CType {
  const char *element, *text;
};

CType typeOf(int32_t dtype) {
  switch (dtype) {
  case TENON_F32:
    return {"float", "f32"};
  case TENON_F64:
    return {"double", "f64"};
  case TENON_F16:
    return {"uint16_t", "f16, as its bits"};
  case TENON_BF16:
    return {"uint16_t", "bf16, as its bits"};
  case TENON_S32:
    return {"int32_t", "s32"};
  case TENON_S64:
    return {"int64_t", "s64"};
  case TENON_S8:
    return {"int8_t", "s8"};
  case TENON_U8:
    return {"uint8_t", "u8"};
  case TENON_BOOLEAN:
    return {"uint8_t", "boolean, 0 or 1"};
  case TENON_F8_E5M2:
    return {"uint8_t", "f8_e5m2, as its bits"};
  case TENON_F8_E4M3:
    return {"uint8_t", "f8_e4m3, as its bits"};
  case TENON_F8_E8M0:
    return {"uint8_t", "f8_e8m0, as its bits"};
  case TENON_S4:
    return {"uint8_t", "s4, two to a byte, the first one low"};
  case TENON_U4:
    return {"uint8_t", "u4, two to a byte, the first one low"};
  default:
    return {"void", "of unknown type"};
  }
}

std::string dimsText(const std::vector<int64_t> &dims) {
  std::string text;
  for (int64_t d : dims)
    text += "[" + (d == TENON_UNKNOWN_DIM ? "?" : std::to_string(d)) + "]";
  return text.empty() ? " scalar" : text;
}

/// Text of a name from a file inside a comment.
std::string commentText(std::string text) {
  for (size_t i = 0; i < text.size(); ++i)
    if (!llvm::isPrint(text[i]) || text[i] == '*' || text[i] == '\\')
      text[i] = '?';
  return text;
}

class HeaderWriter {
public:
  HeaderWriter(const AotInterface &about,
               const std::vector<std::string> &targets)
      : about(about), targets(targets) {}

  std::string write();

private:
  std::string describe(size_t tensor) const;
  std::string parameter(size_t tensor) const;
  std::string sizes(size_t tensor) const;
  std::string list(const std::vector<std::string> &parameters) const;
  std::string declaredSizes() const;
  void writeHead();
  void writeCreate();
  void writeScratch();
  void writeRun();

  const AotInterface &about;
  const std::vector<std::string> &targets;
  std::string out;
};

/// " *   x: input, f32[8][16]\n"
std::string HeaderWriter::describe(size_t tensor) const {
  const TensorInfo &t = about.model.tensors[tensor];
  bool input = tensor < static_cast<size_t>(about.model.numInputs);
  std::string text = " *   " + about.arguments[tensor] + ": " +
                     (t.constant ? "constant"
                      : input    ? "input"
                                 : "output") +
                     " " + commentText(t.name) + ", " + typeOf(t.dtype).text +
                     dimsText(t.dims);
  if (!t.strides.empty()) {
    text += ", strides";
    for (int64_t s : t.strides)
      text += " " + (s == TENON_UNKNOWN_DIM ? "?" : std::to_string(s));
  }
  return text + "\n";
}

std::string HeaderWriter::parameter(size_t tensor) const {
  const TensorInfo &t = about.model.tensors[tensor];
  bool input = tensor < static_cast<size_t>(about.model.numInputs);
  return std::string(input ? "const " : "") + typeOf(t.dtype).element + " *" +
         about.arguments[tensor];
}

std::string HeaderWriter::sizes(size_t tensor) const {
  return "const int64_t " + about.arguments[tensor] + "_dims[" +
         std::to_string(about.model.tensors[tensor].dims.size()) + "]";
}

std::string
HeaderWriter::list(const std::vector<std::string> &parameters) const {
  return "(\n    " + llvm::join(parameters, ",\n    ") + ");\n\n";
}

void HeaderWriter::writeHead() {
  const std::string &p = about.prefix;
  std::string guard = llvm::StringRef(p).upper() + "_TENON_H";
  out += "/* Written by Tenon. Targets, the first that the CPU has is "
         "used:\n * " +
         llvm::join(targets, ", ") +
         ".\n *\n * Link with libtenon_rt. */\n#ifndef " + guard +
         "\n#define " + guard +
         "\n\n#include \"tenon_aot.h\"\n\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
         "/** The model with its constants; any number of threads may run it. "
         "*/\ntypedef tenon_aot " +
         p +
         "_model;\n\n"
         "/** Names, types and sizes of inputs and outputs, targets, weights. "
         "*/\nextern const tenon_model_info " +
         p + "_info;\nconst tenon_model_info *" + p + "_get_info(void);\n\n";
}

void HeaderWriter::writeCreate() {
  const std::string &p = about.prefix;
  std::vector<std::string> parameters = {"const tenon_model_options *options",
                                         "tenon_exec *exec"};
  std::string text;
  for (size_t i = 0; i < about.model.tensors.size(); ++i)
    if (about.isCreateArgument(i)) {
      parameters.push_back(parameter(i));
      text += describe(i);
    }
  parameters.push_back(p + "_model **model");
  out += "/**\n * Chooses the code for this CPU and computes what depends on "
         "constants only.\n * options and exec may be NULL: defaults, the "
         "calling thread.\n";
  bool apart = !about.model.weights.embed && !about.model.weights.data.empty();
  if (apart)
    out += " * options->weights_file names the file of weights.\n";
  if (!text.empty())
    out += " * Constants, which must live as long as the model:\n" + text;
  out += " * *model is NULL on failure; see tenon_aot_create.\n */\n"
         "tenon_rt_status " +
         p + "_create" + list(parameters) + "/** NULL is allowed. */\nvoid " +
         p + "_destroy(" + p + "_model *model);\n\n";
}

void HeaderWriter::writeScratch() {
  std::vector<std::string> parameters = {"const " + about.prefix +
                                         "_model *model"};
  for (size_t i = 0; i < about.model.tensors.size(); ++i)
    if (about.isRunArgument(i) && about.hasUnknownDims(i))
      parameters.push_back(sizes(i));
  out += "/** Bytes of scratch of an execution, 0 if none is needed";
  out += about.isDynamic() ? "; -1: sizes do not fit. */\n" : ". */\n";
  out += "int64_t " + about.prefix + "_scratch_bytes" + list(parameters);
}

/// What holds for sizes, and which ones have code of their own.
std::string HeaderWriter::declaredSizes() const {
  std::string text;
  for (const SizeInfo &size : about.model.sizes) {
    graph::SizeFacts facts{size.min, size.max, size.multipleOf, {}};
    text += " *   " + commentText(size.name) + ": " + facts.str() + ", is";
    for (const tenon_model_dim &at : size.dims)
      text += " " + about.arguments[at.input] + "_dims[" +
              std::to_string(at.dim) + "]";
    text += "\n";
  }
  if (!text.empty())
    text =
        " * Sizes as declared; others are TENON_RT_INVALID_ARGUMENT:\n" + text;
  if (!about.versions.empty())
    text += " * These sizes have code of their own:\n";
  for (const ModelInfo &version : about.versions)
    text += " *   " + commentText(version.name) + "\n";
  return text;
}

void HeaderWriter::writeRun() {
  std::vector<std::string> parameters = {
      "const " + about.prefix + "_model *model", "tenon_exec *exec"};
  std::string text;
  for (size_t i = 0; i < about.model.tensors.size(); ++i) {
    if (!about.isRunArgument(i))
      continue;
    parameters.push_back(parameter(i));
    text += describe(i);
    if (about.hasUnknownDims(i))
      parameters.push_back(sizes(i));
  }
  parameters.push_back("void *scratch");
  out += "/**\n * Executes once.\n"
         " *   exec: threads, or a pool of the caller; NULL: the calling "
         "thread\n" +
         text + " *   scratch: " + about.prefix +
         "_scratch_bytes bytes, aligned to 64; NULL: allocated\n";
  if (about.isDynamic())
    out += " * Sizes of outputs must be those that follow from the inputs: "
           "this is not\n * checked, and outputs are written accordingly.\n";
  out += declaredSizes();
  out += " * Status: see tenon_model_run.\n */\ntenon_rt_status " +
         about.prefix + "_run" + list(parameters);
}

std::string HeaderWriter::write() {
  writeHead();
  writeCreate();
  writeScratch();
  writeRun();
  out += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return std::move(out);
}

} // namespace

std::string headerText(const AotInterface &about,
                       const std::vector<std::string> &targets) {
  return HeaderWriter(about, targets).write();
}

} // namespace tenon::codegen
