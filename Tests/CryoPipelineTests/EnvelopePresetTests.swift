// The catalogue of envelopes: each judges its own examples, and the page shows them.
// Domain: cold

import CryoJSON
import Foundation
import Testing

@testable import CryoPipeline

private func plan(_ preset: EnvelopePreset) -> PolicyPlan? {
    var settings = PolicySettings(name: preset.name)
    settings.success = preset.success
    settings.messagePaths = preset.messagePaths
    settings.codePath = preset.codePath
    settings.dataPath = preset.dataPath
    settings.view = .data
    return PolicyPlan(settings)
}

@Suite("The envelope presets")
struct EnvelopePresetTests {
    @Test(
        "each takes its example of a success and refuses that of a failure, with code and message",
        arguments: EnvelopePreset.all.map(\.name))
    func examples(_ name: String) throws {
        let preset = try #require(EnvelopePreset.named(name))
        let policy = try #require(plan(preset))
        let judge = EnvelopeJudge(scanner: JSONScanner())
        var body = Array(preset.examples.success.utf8)
        guard case .accepted(.slice(let data)) = judge.judge(padding: &body, by: policy) else {
            Issue.record("the success is not taken")
            return
        }
        #expect(preset.examples.success.contains("\"data\":\(String(decoding: body[data], as: UTF8.self))"))
        body = Array(preset.examples.failure.utf8)
        guard case .rejected(let failure) = judge.judge(padding: &body, by: policy) else {
            Issue.record("the failure is not refused")
            return
        }
        #expect(text(failure.rawCode) == preset.examples.code && text(failure.message) == preset.examples.message)
    }

    @Test("names differ, and a body without the deciding member is what the preset says")
    func missing() throws {
        let names = EnvelopePreset.all.map(\.name)
        #expect(Set(names).count == names.count && EnvelopePreset.named("code0") == nil)
        for (name, isSuccess) in [
            ("code0_msg_data", true), ("code200_msg_data", false), ("code0_message_data", true), ("retCode", true), ("status_ok", false),
            ("success_true", false),
        ] {
            var body = Array("{}".utf8)
            let policy = try #require(EnvelopePreset.named(name).flatMap { plan($0) })
            let verdict = EnvelopeJudge(scanner: JSONScanner()).judge(padding: &body, by: policy)
            if case .accepted = verdict { #expect(isSuccess, "\(name)") } else { #expect(!isSuccess, "\(name)") }
        }
    }

    @Test("the page shows every preset with its meaning and examples")
    func page() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/CryoGateway/CryoGateway.docc/Envelopes.md"), encoding: .utf8)
        for preset in EnvelopePreset.all {
            let row = "| `\(preset.name)` | \(preset.meaning) | `\(preset.examples.success)` | `\(preset.examples.failure)` |"
            #expect(page.contains(row), "Envelopes.md lacks the row: \(row)")
        }
    }
}
