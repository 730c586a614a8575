// Heads of replays: nothing in a value can become a line of its own, and framing is never taken over.
// Domain: cold

import CryoPipeline
import Testing

@testable import CryoAdmin

@Suite("A request once more")
struct ReplayRequestTests {
    private func head(
        _ method: String = "GET", _ target: String = "/a", _ fields: [(String, String)] = [], body: String = "", key: String? = nil
    ) -> String {
        let request = ReplayRequest(method: method, target: target, fields: fields.map { ($0.0, $0.1) }, body: Array(body.utf8))
        do throws(ReplayRefusal) {
            return String(decoding: try request.head(defaultHost: "localhost", clientKey: key.map { Secret($0) }), as: UTF8.self)
        } catch {
            return "! \(error.text)"
        }
    }

    @Test("is a head as a client sends it, with a host and the client key of the gateway")
    func plain() {
        #expect(head() == "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(
            head("POST", "/a", [("Host", "x"), ("A", "1")], body: "ab")
                == "POST /a HTTP/1.1\r\nHost: x\r\nA: 1\r\nContent-Length: 2\r\n\r\n")
        #expect(head("PUT") == "PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        #expect(head(key: "k") == "GET /a HTTP/1.1\r\nHost: localhost\r\nX-CryoNet-Key: k\r\n\r\n")
    }

    @Test("leaves framing, hop-by-hop fields and somebody else's key out")
    func ours() {
        let fields = [
            ("Content-Length", "9"), ("transfer-encoding", "chunked"), ("Connection", "x"), ("Expect", "100-continue"),
            ("x-cryonet-key", "no"),
        ]
        #expect(head("GET", "/a", fields) == "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    @Test(
        "refuses what could become another line or another request",
        arguments: [
            ("G ET", "/a", "A", "1"), ("", "/a", "A", "1"), ("CONNECT", "/a", "A", "1"), ("GET", "a", "A", "1"), ("GET", "", "A", "1"),
            ("GET", "/a b", "A", "1"), ("GET", "/a\r\nX: 1", "A", "1"), ("GET", "http://x/", "A", "1"), ("GET", "/a", "A", "1\r\nB: 2"),
            ("GET", "/a", "A\r\nB", "1"), ("GET", "/a", "", "1"), ("GET", "/a", "A", "\u{0}"), ("GET", "/a", "A:", "1"),
        ])
    func refusals(_ method: String, _ target: String, _ name: String, _ value: String) {
        #expect(head(method, target, [(name, value)]).hasPrefix("! "))
    }

    @Test(
        "a query has the parameters of its route, each of its kind",
        arguments: [
            ("", "100 -"), ("limit=7", "7 -"), ("limit=7&word=b+c%2Bd", "7 b c+d"), ("word=", "100 -"), ("limit=0", "!"), ("limit=11", "!"),
            ("limit=1.5", "!"), ("limit=", "100 -"), ("other=1", "!"), ("word=%ff", "!"), ("word=%", "!"), ("&&", "100 -"),
        ])
    func queries(_ query: String, _ expected: String) {
        let told: String
        do throws(BodyProblem) {
            let parsed = try AdminQuery(query, of: [AdminRoute.Parameter("limit", ""), AdminRoute.Parameter("word", "")])
            told = "\(try parsed.integer("limit", in: 1...10, default: 100)) \(parsed.text("word") ?? "-")"
        } catch {
            told = "!"
        }
        #expect(told == expected)
    }

    @Test("pairs are a list of two texts each, or nothing")
    func pairs() throws {
        let good = try AdminBody(Array(#"{"headers":[["A","1"],["B\n","\u00e9"]]}"#.utf8)).pairs(["headers"])
        #expect(good?.map { "\($0.name)=\($0.value)" } == ["A=1", "B\n=é"])
        for none in ["{}", #"{"headers":null}"#] { #expect(try AdminBody(Array(none.utf8)).pairs(["headers"]) == nil) }
        for bad in [
            #"{"headers":{}}"#, #"{"headers":[["A"]]}"#, #"{"headers":[["A","1","2"]]}"#, #"{"headers":[["A",1]]}"#, #"{"headers":[1]}"#,
        ] {
            #expect(throws: BodyProblem.self) { try AdminBody(Array(bad.utf8)).pairs(["headers"]) }
        }
    }
}
