// What judging a body costs: ns per body, the best of several rounds, with the copy that passing it through would need as the base.
// Domain: cold
//
//     CRYONET_BENCH=1 swift build -c release --product cryonet-bench && .build/release/cryonet-bench

import CryoJSON
import CryoPipeline

func body(bytes: Int) -> [UInt8] {
    var text = #"{"code":0,"msg":"ok","data":{"items":["#
    var number = 0
    while text.utf8.count < bytes - 110 {
        text += "{\"id\":\(number),\"name\":\"item \(number)\",\"price\":\(number).25,\"tags\":[\"a\",\"b\"],\"ok\":true},"
        number += 1
    }
    text += "{\"id\":-1}]},\"pad\":\""
    text += String(repeating: "x", count: max(0, bytes - text.utf8.count - 2)) + "\"}"
    return Array(text.utf8)
}

func policy(_ success: SuccessPredicate, data: Bool) -> PolicyPlan? {
    var settings = PolicySettings(name: "bench")
    settings.success = success
    settings.messagePaths = ["message", "msg", "error", "reason", "detail"].compactMap { JSONPath($0) }
    settings.codePath = JSONPath("code")
    settings.dataPath = JSONPath("data")
    settings.view = data ? .data : .complete
    return PolicyPlan(settings)
}

func nanoseconds(rounds: Int, times: Int, _ work: () -> Void) -> Double {
    var best = Double.infinity
    for _ in 0..<rounds {
        let time = ContinuousClock().measure { for _ in 0..<times { work() } }
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        best = min(best, seconds * 1e9 / Double(times))
    }
    return best
}

let judge = EnvelopeJudge(scanner: JSONScanner())
guard let code = JSONPath("code"), let error = JSONPath("error"), let pattern = TextPattern("o*") else { fatalError("no paths") }
let simple = SuccessPredicate.equals(code, .number("0"))
let logic = SuccessPredicate.all([
    .any([.test(SuccessTest(path: code, condition: .oneOf([.number("200"), .number("0")])))]),
    .not(.test(SuccessTest(path: error, condition: .truthy(true)))),
    .test(SuccessTest(path: JSONPath("msg") ?? code, condition: .matches(pattern))),
])
for size in [300, 65_536] {
    var bytes = body(bytes: size)
    bytes.reserveCapacity(bytes.count + JSONScanner.padding)
    let times = 20_000_000 / size
    var copied: [UInt8] = []
    copied.reserveCapacity(bytes.count)
    let copy = nanoseconds(rounds: 9, times: times) {
        copied.removeAll(keepingCapacity: true)
        copied.append(contentsOf: bytes)
    }
    print("\(bytes.count) bytes: copy \(Int(copy)) ns")
    let kinds: [(String, SuccessPredicate, Bool)] = [
        ("code = 0", simple, false), ("code = 0, data", simple, true), ("all, any, not, matches", logic, false),
    ]
    for (name, predicate, data) in kinds {
        guard let plan = policy(predicate, data: data) else { continue }
        var successes = 0
        let cost = nanoseconds(rounds: 9, times: times) {
            if case .accepted = judge.judge(padding: &bytes, by: plan) { successes += 1 }
        }
        guard successes == 9 * times else { fatalError("not a success") }
        print("\(bytes.count) bytes: \(name) \(Int(cost)) ns")
    }
}
