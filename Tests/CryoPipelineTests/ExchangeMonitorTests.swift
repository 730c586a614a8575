// What exchanges leave for the admin side: their records always, their events only while somebody listens (ledger §Q, B-ST19).
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

@Suite("What exchanges tell the admin side")
struct ExchangeMonitorTests {
    private func events(_ bench: Bench) -> [[String: Any]] {
        bench.feed.events.read(from: 0, countMax: .max, bytesMax: .max).lines.map { object(String(decoding: $0, as: UTF8.self)) }
    }

    private func names(_ bench: Bench) -> [String] { events(bench).compactMap { $0["event"] as? String } }

    private func listen(_ bench: Bench) { _ = bench.feed.events.watch {} }

    @Test("the record is the audit's line, under the exchange's id, also without a sink")
    func records() {
        let bench = Bench()
        bench.begin(requestHead())
        bench.answer(200)
        let page = bench.feed.exchanges.read(from: 0, countMax: 10, bytesMax: .max)
        #expect(page.lines.map { String(decoding: $0, as: UTF8.self) } == bench.audit.lines)
        #expect(bench.exchange.flatMap { bench.feed.exchanges.find(id: $0.id) }?.sequence == 0)
    }

    @Test("nothing is told while nobody listens")
    func silence() {
        let bench = Bench()
        bench.begin(requestHead())
        bench.answer(200)
        #expect(bench.feed.events.kept.isEmpty)
    }

    @Test("an exchange from its request to its end, each state after the one before, no secret")
    func whole() {
        let bench = Bench()
        listen(bench)
        bench.begin(requestHead(method: "POST", ["Content-Length: 5"]), body: Array("hello".utf8))
        bench.answer(200, [("Content-Type", "application/json")], "{}")
        let told = events(bench)
        #expect(names(bench).first == "request_created" && names(bench).last == "finished")
        for name in ["request_adapted", "resumed", "transitioned", "response_received", "data_received", "data_written"] {
            #expect(names(bench).contains(name), "\(name)")
        }
        let adapted = told.first { $0["event"] as? String == "request_adapted" }
        #expect((adapted?["added"] as? [String])?.contains("authorization") == true)
        var state = "created"
        for one in told where one["event"] as? String == "transitioned" {
            #expect(one["from"] as? String == state)
            state = one["to"] as? String ?? ""
        }
        #expect(Set(told.compactMap { $0["exchange"] as? String }).count == 1)
        let text = bench.feed.events.read(from: 0, countMax: .max, bytesMax: .max).lines.map { String(decoding: $0, as: UTF8.self) }
            .joined()
        #expect(!text.contains("token-one"))
    }

    @Test("a refresh and a retry are told, with who leads and how long the wait is")
    func refreshAndRetry() {
        let bench = Bench(route: {
            $0.retry.limit = 1
            $0.retry.jitter = .none
        })
        listen(bench)
        bench.begin(requestHead())
        bench.answer(401)
        let refresh = events(bench).first { $0["event"] as? String == "refreshing" }
        #expect(refresh?["token"] as? String == "app" && refresh?["leads"] as? Bool == true)
        bench.endRefresh(.renewed(NewCredential(token: Secret("token-two"))))
        bench.fail(.connectRefused)
        let retry = events(bench).first { $0["event"] as? String == "retrying" }
        #expect(retry?["number"] as? Int == 1 && retry?["delay_ms"] as? Int == 500)
        bench.advance(milliseconds: 600)
        bench.answer(200)
        #expect(names(bench).filter { $0 == "resumed" }.count == 3)
    }

    @Test("exactly one event ends an exchange, whoever ends it", arguments: ["answer", "client", "failure", "refusal"])
    func ends(_ how: String) {
        let bench = Bench()
        listen(bench)
        if how == "refusal" {
            bench.begin(requestHead(host: "evil.example"))
        } else {
            bench.begin(requestHead())
        }
        switch how {
        case "answer": bench.answer(200)
        case "client": bench.exchange?.clientGone()
        case "failure": bench.fail(.reset)
        default: break
        }
        bench.exchange?.clientGone()
        let ends = names(bench).filter { ["finished", "cancelled"].contains($0) }
        #expect(ends == [how == "client" ? "cancelled" : "finished"] && names(bench).last == ends.first)
    }

    @Test("listening may begin in the middle of an exchange")
    func late() {
        let bench = Bench()
        bench.begin(requestHead())
        listen(bench)
        bench.answer(200)
        #expect(names(bench).first == "response_received" && names(bench).last == "finished")
    }
}
