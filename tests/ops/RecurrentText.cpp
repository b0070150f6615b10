// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/RecurrentText.h"

#include <initializer_list>
#include <random>
#include <vector>

namespace tenon::test {

RecurrentChoice legal(RecurrentChoice c) {
  bool isLstm = c.cell == "LSTM", isInt8 = c.type == "u8";
  if (isInt8 && c.cell != "LSTM" && c.cell != "GRU")
    c.cell = "LSTM", isLstm = true;
  if (!isLstm)
    c.projection = 0, c.peephole = false;
  if (c.cell != "GRU" && c.cell != "AUGRU")
    c.linearBeforeReset = false;
  if (isInt8)
    c.linearBeforeReset = c.peephole = c.backward = false;
  if (c.directions() == 1)
    c.concatenated = false;
  if (c.layers > 1) // SLC is what the layer below gives
    c.inputs = c.outputs() * (c.concatenated ? 2 : 1);
  if (!c.backward)
    c.accumulate = false;
  // GRU mixes the old state with the new one, and a later step reads h.
  if (c.steps != 1 || c.lengths || (c.cell != "RNN" && !isLstm))
    c.ownStates = 0;
  return c;
}

namespace {

/// Writes operands and results of a choice.
class Writer {
public:
  explicit Writer(const RecurrentChoice &c) : c(c) {}

  std::string forward();
  std::string backward();

private:
  bool isLstm() const { return c.cell == "LSTM"; }
  bool isAugru() const { return c.cell == "AUGRU"; }
  int64_t gates() const { return c.cell == "RNN" ? 1 : isLstm() ? 4 : 3; }
  int64_t biasRows() const { return c.linearBeforeReset ? 4 : gates(); }
  int64_t states() const { return c.ownStates ? c.ownStates : c.outputs(); }

  using Sizes = std::initializer_list<int64_t>;
  static std::string shape(Sizes sizes) {
    std::string text;
    for (int64_t size : sizes)
      text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
  }
  /// T, N, channels in the order of the choice.
  std::string steps(int64_t channels) const {
    return c.batchFirst ? shape({c.batch, c.steps, channels})
                        : shape({c.steps, c.batch, channels});
  }
  std::string perLayer(Sizes rest) const {
    return shape({c.layers, c.directions()}) + "x" + shape(rest);
  }
  std::string type() const { return c.type == "f32" ? "" : "/" + c.type; }
  std::string weightsType() const {
    return (c.type == "u8" ? "/s8" : type()) + (c.constantWeights ? "c" : "");
  }
  /// ` name:text`, or that it is left out.
  static std::string optional(bool given, const std::string &text) {
    return given ? " " + text : " _";
  }
  std::string attributes() const;
  std::string before(const std::string &dims) const {
    return optional(c.accumulate, dims);
  }

  const RecurrentChoice &c;
};

std::string Writer::attributes() const {
  std::string text = " direction=" + c.direction;
  if (c.concatenated)
    text += " stacking=concatenated";
  if (c.batchFirst)
    text += " batch_first=true";
  if (c.cell == "RNN")
    text += " activation=" + c.activation + " alpha=0.3";
  if (c.linearBeforeReset)
    text += " linear_before_reset=true";
  return text;
}

std::string Writer::forward() {
  std::string text = "y" + type();
  text += c.dstIter ? ",h" + type() : ",_";
  if (isLstm())
    text += c.dstIterC ? ",cc/f32" : ",_";
  if (c.backward)
    text += ",ws/f32";
  text += " = " + c.cell + " x:" + steps(c.inputs) + type() +
          " w:" + perLayer({c.inputs, gates(), c.hidden}) + weightsType() +
          " u:" + perLayer({states(), gates(), c.hidden}) + weightsType();
  if (isAugru())
    text += " a:" + steps(1) + type();
  text += optional(c.bias, perLayer({biasRows(), c.hidden}) +
                               (c.constantWeights ? "c" : ""));
  text += optional(c.srcIter, "h0:" + perLayer({c.batch, states()}) + type());
  if (isLstm()) {
    text += optional(c.srcIterC, "c0:" + perLayer({c.batch, c.hidden}));
    text += optional(c.peephole, "p:" + perLayer({3, c.hidden}));
    text += optional(c.projection,
                     "r:" + perLayer({c.hidden, c.outputs()}) + weightsType());
  }
  text += optional(c.lengths, "n:" + shape({c.batch}) + "/s32");
  text += attributes();
  if (c.type == "u8")
    text += " data_scale=90 data_shift=120 weights_scales=300" +
            std::string(c.projection ? " projection_scales=280" : "");
  return text;
}

std::string Writer::backward() {
  int64_t wide = c.outputs() * (c.direction == "bidirectional_concat" ? 2 : 1);
  std::string text = "dx/f32,dw/f32,du/f32,db/f32,dh0/f32";
  if (isLstm())
    text += std::string(",dc0/f32") + (c.peephole ? ",dp/f32" : ",_") +
            (c.projection ? ",dr/f32" : ",_");
  if (isAugru())
    text += ",da/f32";
  while (text.ends_with(",_"))
    text.erase(text.size() - 2);
  text += " = " + c.cell + "Backward x w u" + (isAugru() ? " a" : "") + " ws " +
          steps(wide);
  text += optional(c.srcIter, "h0");
  if (isLstm())
    text += optional(c.srcIterC, "c0") + optional(c.peephole, "p") +
            optional(c.projection, "r");
  text += optional(c.lengths, "n");
  text += optional(c.stateGradients, perLayer({c.batch, c.outputs()}));
  if (isLstm())
    text += optional(c.stateGradients, perLayer({c.batch, c.hidden}));
  text += before(perLayer({c.inputs, gates(), c.hidden})) +
          before(perLayer({states(), gates(), c.hidden})) +
          before(perLayer({biasRows(), c.hidden}));
  if (isLstm())
    text += optional(c.accumulate && c.peephole, perLayer({3, c.hidden})) +
            optional(c.accumulate && c.projection,
                     perLayer({c.hidden, c.outputs()}));
  while (text.ends_with(" _"))
    text.erase(text.size() - 2);
  text += attributes();
  if (c.accumulate)
    text += " diff_weights=accumulate";
  return text;
}

} // namespace

std::string textOf(const RecurrentChoice &c) {
  Writer writer(c);
  std::string text = writer.forward();
  // What is left out at the end is not written at all.
  if (c.backward)
    text += "; " + writer.backward();
  return text;
}

RecurrentChoice randomChoice(uint64_t i) {
  std::mt19937_64 random(i * 7919 + 17);
  auto pick = [&](auto... values) {
    std::vector<std::common_type_t<decltype(values)...>> list{values...};
    return list[random() % list.size()];
  };
  auto flag = [&] { return random() % 2 == 0; };
  using Text = std::string;
  RecurrentChoice c;
  c.cell = pick(Text("RNN"), Text("LSTM"), Text("LSTM"), Text("GRU"),
                Text("GRU"), Text("AUGRU"));
  c.activation = pick(Text("tanh"), Text("relu"), Text("logistic"));
  c.linearBeforeReset = flag();
  c.direction = pick(Text("left2right"), Text("right2left"),
                     Text("bidirectional_concat"), Text("bidirectional_sum"));
  c.concatenated = flag();
  c.batchFirst = flag();
  c.type =
      pick(Text("f32"), Text("f32"), Text("bf16"), Text("f16"), Text("u8"));
  c.steps = pick(0, 1, 2, 3, 5, 9);
  c.batch = pick(1, 2, 3, 7, 26);
  c.layers = pick(1, 1, 2, 3);
  c.inputs = pick(1, 3, 8, 17);
  c.hidden = pick(1, 5, 16, 23, 40);
  c.projection = pick(0, 0, 3, 9, 24);
  c.ownStates = pick(0, 0, 4, 18);
  c.bias = flag();
  c.srcIter = flag();
  c.srcIterC = flag();
  c.peephole = flag();
  c.lengths = random() % 3 == 0;
  c.dstIter = flag();
  c.dstIterC = flag();
  c.constantWeights = flag();
  c.backward = flag();
  c.accumulate = flag();
  c.stateGradients = flag();
  return legal(c);
}

} // namespace tenon::test
