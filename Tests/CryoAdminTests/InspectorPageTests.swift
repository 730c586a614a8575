// The inspector page as a document: put together from its files, under a policy of its own each time.
// Domain: cold

import CInspector
import Testing

@testable import CryoAdmin

@Suite("The inspector page")
struct InspectorPageTests {
    private static func file(_ index: Int) -> (name: String, text: String) {
        let file = cryo_page_at(index)
        let bytes = UnsafeBufferPointer(start: file.bytes, count: file.count)
        return (String(cString: file.name), String(decoding: bytes, as: UTF8.self))
    }
    private let files = (0..<cryo_page_count()).map { Self.file($0) }

    @Test("is one document with every file in it, in order")
    func document() throws {
        let text = String(decoding: InspectorPage().reply().body, as: UTF8.self)
        var rest = text[...]
        for file in files.dropFirst() {
            let place = try #require(rest.firstRange(of: file.text), "\(file.name) is missing or out of order")
            rest = rest[place.upperBound...]
        }
        #expect(files.count == 12 && !text.contains("{{nonce}}") && !text.contains("{{style}}") && !text.contains("{{script}}"))
    }

    @Test("runs what carries the nonce of this answer, and every answer has another")
    func nonces() throws {
        let page = InspectorPage()
        var seen: Set<String> = []
        for _ in 0..<20 {
            let reply = page.reply()
            let policy = try #require(reply.fields.first { $0.name == "Content-Security-Policy" }?.value)
            let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([a-z0-9]+)'/)?.1)
            let text = String(decoding: reply.body, as: UTF8.self)
            #expect(text.contains("<style nonce=\"\(nonce)\">") && text.contains("<script nonce=\"\(nonce)\">"))
            seen.insert(String(nonce))
        }
        #expect(seen.count == 20)
    }

    @Test("no file ends the element it stands in, or makes markup of text")
    func noMarkup() {
        let banned = [
            "</script", "</style", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "{{",
        ]
        for file in files.dropFirst() {
            for word in banned { #expect(!file.text.contains(word), "\(file.name) has \(word)") }
        }
    }
}
