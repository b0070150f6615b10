// SPDX-License-Identifier: Apache-2.0
// Three transformers for any batch and any number of tokens, each compiled
// once: BERT-base, an encoder; GPT-2 small, a decoder with a cache of keys and
// values that is written in place; and the blocks of a Llama with RMSNorm,
// rotary positions, grouped queries and SwiGLU.
//
// A token of GPT-2 adds a row of keys and one of values to the caches of each
// layer, 12 * 2 * 768 * 4 = 73,728 bytes. Nothing else of a cache moves where
// the program gives one buffer as the cache before and as that after it.
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
