// Who comes in: by Host, by Origin, by key.
// Domain: cold

import CryoHTTP
import CryoPipeline
import Testing

@testable import CryoAdmin

@Suite("The door of the admin side")
struct AdminDoorTests {
    private let door = AdminDoor(hosts: ["localhost", "127.0.0.1", "[::1]"], key: Secret("the-admin-key"))

    private func head(_ fields: [(String, String)], target: String = "/api/tokens") -> RequestHead {
        let method = Array("GET".utf8)
        var section = FieldSection(over: method + Array(target.utf8))
        for (name, value) in fields { section.append(name: Array(name.utf8), value: Array(value.utf8)) }
        return RequestHead(
            fields: section, method: 0..<3, target: 3..<3 + target.utf8.count, minorVersion: 1, framing: .none, keepsAlive: true,
            expectsContinue: false)
    }

    private func site(_ fields: [(String, String)], isProbe: Bool = false, target: String = "/api/tokens") -> FailureReason? {
        if case .refused(let reason, _) = door.judgeSite(head(fields, target: target), isProbe: isProbe) { reason } else { nil }
    }

    private func hasKey(_ fields: [(String, String)]) -> Bool {
        if case .open = door.judgeKey(head(fields)) { true } else { false }
    }

    @Test("only its own hosts, on any port; a probe under every host")
    func hosts() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8081", "[::1]:8081"] { #expect(site([("Host", host)]) == nil, "\(host)") }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8081", "127.0.0.2", "a b"] {
            #expect(site([("Host", host)]) == .hostDenied, "\(host)")
            #expect(site([("Host", host)], isProbe: true) == nil, "\(host)")
        }
        #expect(site([("Host", "localhost")], target: "http://evil.example/api/tokens") == .hostDenied)
    }

    @Test("a page of another site has no business here, not even as a probe")
    func origins() {
        let own = ("Host", "localhost:8081")
        #expect(site([own, ("Origin", "http://localhost:8081")]) == nil)
        #expect(site([own, ("Sec-Fetch-Site", "same-origin")]) == nil)
        let foreign = [
            ("Origin", "null"), ("Origin", "http://localhost"), ("Origin", "http://localhost:8080"), ("Origin", "https://evil.example"),
            ("Origin", ""), ("Sec-Fetch-Site", "cross-site"),
        ]
        for field in foreign {
            #expect(site([own, field]) == .originDenied, "\(field)")
            #expect(site([own, field], isProbe: true) == .originDenied, "\(field)")
        }
    }

    @Test("the key is exactly the key, as a bearer")
    func keys() {
        #expect(hasKey([("Authorization", "Bearer the-admin-key")]) && hasKey([("authorization", "bearer  the-admin-key")]))
        for value in ["", "Bearer", "Bearer ", "Bearer the-admin-ke", "Bearer the-admin-keyy", "Basic the-admin-key", "the-admin-key"] {
            #expect(!hasKey([("Authorization", value)]), "\(value)")
        }
        #expect(!hasKey([]) && !hasKey([("X-CryoNet-Key", "the-admin-key")]))
    }
}
