// The route table of the admin side: which path is what, and what its description says.
// Domain: cold

import Testing

@testable import CryoAdmin

@Suite("The admin table")
struct AdminTableTests {
    private let table = AdminTable([
        AdminRoute("GET", "/a", "a", answers: []) { _, _ in },
        AdminRoute("GET", "/a/{name}", "one", answers: []) { _, _ in },
        AdminRoute("POST", "/a/{name}/b", "b", answers: []) { _, _ in },
    ])

    private func find(_ method: String, _ path: String) -> String {
        switch table.find(method: method, path: path) {
        case .found(let route, let parameters): "\(route.pattern) \(parameters["name"] ?? "-")"
        case .otherMethods(let methods): "405 \(methods.joined(separator: ","))"
        case .nothing: "404"
        }
    }

    @Test(
        "a path is found by its segments, names in braces stand for one",
        arguments: [
            ("GET", "/a", "/a -"), ("HEAD", "/a", "/a -"), ("GET", "/a/x", "/a/{name} x"), ("GET", "/a/x%20y", "/a/{name} x y"),
            ("POST", "/a/x/b", "/a/{name}/b x"), ("POST", "/a", "405 GET,HEAD"), ("GET", "/a/x/b", "405 POST"), ("GET", "/a/", "404"),
            ("GET", "/", "404"), ("GET", "/a/x/c", "404"), ("GET", "/a/%zz", "404"), ("GET", "/a/%ff", "404"), ("GET", "/A", "404"),
            ("GET", "/a/%2", "404"), ("GET", "a", "404"), ("GET", "", "404"),
        ])
    func paths(_ method: String, _ path: String, _ expected: String) { #expect(find(method, path) == expected) }

    @Test("an entity tag is one of a list, weak or not")
    func entityTags() {
        let tag = EntityTag.of(Array("state".utf8))
        #expect(tag.count == 18 && tag != EntityTag.of(Array("other".utf8)))
        let text = String(decoding: tag, as: UTF8.self)
        for listed in [text, "W/\(text)", "\"a\", \(text)", "*"] { #expect(EntityTag.lists(Array(listed.utf8), tag), "\(listed)") }
        for other in ["", "\"a\"", "W/", text + "x"] { #expect(!EntityTag.lists(Array(other.utf8), tag), "\(other)") }
    }

    @Test("seconds are written exactly", arguments: [(0, "0"), (1, "0.000001"), (2_500, "0.0025"), (1_000_000, "1"), (61_500_000, "61.5")])
    func seconds(_ microseconds: UInt64, _ expected: String) { #expect(MetricsText.seconds(microseconds) == expected) }
}
