// SPDX-License-Identifier: Apache-2.0
// Three transformers for any batch and any number of tokens, each compiled
// once: BERT-base, an encoder; GPT-2 small, a decoder with a cache of keys and
// values that is written in place; and the blocks of a Llama with RMSNorm,
// rotary positions, grouped queries and SwiGLU.
//
//   transformers [FOLDER [LAYERS]]     writes bert.json, gpt2.json, llama.json
//
// The files here have one layer each; the models have 12, 12 and 16.
#include "examples/transformers/Transformers.h"

#include <cstdlib>

using namespace tenon;

int main(int argc, char **argv) {
  std::string folder = argc > 1 ? argv[1] : ".";
  int layers = argc > 2 ? std::atoi(argv[2]) : 1;
  return examples::writeGraph(examples::bert(layers), folder, "bert.json") |
         examples::writeGraph(examples::gpt2(layers), folder, "gpt2.json") |
         examples::writeGraph(examples::llama(layers), folder, "llama.json");
}
