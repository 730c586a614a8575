// The clients of a drill: plain HTTP calls, alone or many at the same moment.
// Domain: cold

import CryoSync
import CryoUpstream
import Dispatch

struct DrillAnswer: Sendable {
    /// 0: none came.
    var status: UInt16 = 0
    var text = ""
}

enum DrillClients {
    private static let timeoutMilliseconds: UInt32 = 60_000

    static func send(_ method: String, url: String, _ body: [UInt8] = []) -> DrillAnswer {
        let result = BlockingHTTPClient.perform(
            method: method, url: url, headers: [], body: body, timeoutMilliseconds: timeoutMilliseconds, caFile: nil)
        guard case .success(let answer) = result else { return DrillAnswer() }
        return DrillAnswer(status: answer.status, text: String(decoding: answer.body, as: UTF8.self))
    }

    /// Requests of as many clients as `count`, which begin together and are spread over the gateways.
    static func together(_ count: Int, _ path: String, at addresses: [String]) -> [DrillAnswer] {
        let answers = Mutex([DrillAnswer](repeating: DrillAnswer(), count: count))
        let begin = DispatchSemaphore(value: 0)
        let group = DispatchGroup()
        for index in 0..<count {
            let url = "http://\(addresses[index % addresses.count])\(path)"
            group.enter()
            // Serial queues of their own: each blocks a thread of its own.
            DispatchQueue(label: "cryonet.drill.client").async {
                begin.wait()
                let answer = send("GET", url: url)
                answers.withLock { $0[index] = answer }
                group.leave()
            }
        }
        for _ in 0..<count { begin.signal() }
        group.wait()
        return answers.withLock { $0 }
    }
}

extension [DrillAnswer] {
    /// `200 × 19, 401 × 1`.
    var statuses: String {
        let counts = [UInt16: Int](map { ($0.status, 1) }, uniquingKeysWith: +)
        return counts.sorted { $0.key < $1.key }.map { "\($0.key == 0 ? "none" : "\($0.key)") × \($0.value)" }.joined(separator: ", ")
    }

    func areAll(_ status: UInt16) -> Bool { !isEmpty && allSatisfy { $0.status == status } }

    /// What the API itself answers is its own affair, as long as it is a success.
    var areSuccesses: Bool { !isEmpty && allSatisfy { (200...299).contains($0.status) } }
}
