#include "tests/ops/Cases.h"

namespace tenon::test {

static void addElementwise(Cases &cases) {
  static const char *const kinds[] = {
      "AbsBackward",
      "ClampBackward min=-1 max=2",
      "ClampBackward min=-1 max=2 use_dst=false",
      "EluBackward alpha=0.5",
      "EluBackward alpha=1 use_dst=true",
      "EluBackward alpha=2 use_dst=false",
      "EluBackward alpha=-0.5 use_dst=false",
      "GELUBackward",
      "GELUBackward mode=gelu_erf",
      "GELUBackward mode=gelu_tanh",
      "HardSigmoidBackward alpha=0.2 beta=0.5",
      "HardSigmoidBackward alpha=-1 beta=0",
      "HardSwishBackward",
      "MishBackward",
      "ReLUBackward",
      "ReLUBackward use_dst=false",
      "SigmoidBackward",
      "SigmoidBackward use_dst=false",
      "SoftPlusBackward",
      "SoftPlusBackward beta=0.5",
      "SoftPlusBackward beta=-20",
      "SqrtBackward",
      "SqrtBackward use_dst=false",
      "TanhBackward",
      "TanhBackward use_dst=false",
  };
  static const char *const odd[] = {
      "() ()",
      "0 0",
      "1 1",
      "2x0x3 2x0x3",
      "7x5<1,7> 7x5",
      "3x5 3x5<40,2>",
      "2x3x1x5x7 2x3x1x5x7",
      "17c 17",
      "100003 100003",
  };
  int i = 0;
  for (std::string kind : kinds) {
    // A size with a rest behind the vectors for each, one odd shape in turn.
    cases.push_back(kind + " 5x37 5x37");
    cases.push_back(kind + " " + odd[i++ % std::size(odd)]);
  }
  cases.push_back("y<1,13> = TanhBackward 13x17<1,13> 13x17");
  cases.push_back("y<40,2> = ReLUBackward 13x17 13x17");
  cases.push_back("y = Sigmoid 5x37; SigmoidBackward y 5x37; out y");
}

Cases backwardCases() {
  Cases cases;
  addElementwise(cases);
  return cases;
}

} // namespace tenon::test
