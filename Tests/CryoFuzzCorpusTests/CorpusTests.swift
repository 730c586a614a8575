// Every file of the fuzz corpora, through the same functions that libFuzzer calls. A finding becomes a file there.
// Domain: cold

import CryoFuzz
import Foundation
import Testing

@Suite("The fuzz corpora")
struct CorpusTests {
    @Test("every file of a corpus keeps the properties of its target", arguments: FuzzTarget.allCases)
    func corpus(_ target: FuzzTarget) throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appendingPathComponent("Fuzz/Corpus/\(target.rawValue)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names.count >= 10, "\(folder.path) is nearly empty")
        for name in names {
            let bytes = try Data(contentsOf: folder.appendingPathComponent(name))
            let complaint = bytes.withUnsafeBytes { target.complaint(about: $0) }
            #expect(complaint == nil, "\(target.rawValue)/\(name): \(complaint ?? "")")
        }
    }

    @Test("no bytes at all keep the properties of every target", arguments: FuzzTarget.allCases)
    func empty(_ target: FuzzTarget) {
        let complaint = target.complaint(about: UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(complaint == nil, "\(complaint ?? "")")
    }
}
