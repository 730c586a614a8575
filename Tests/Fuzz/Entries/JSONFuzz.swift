// Fuzz entry: the JSON scanner, the envelope judge, the writer (RFC 8259).
// Domain: pure

import CryoJSON
import CryoPipeline

func fuzzJSON(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    let input = Array(bytes)
    let scanner = JSONScanner()
    guard let policy, let root = JSONPathSet([.root]) else { throw Broken(property: "the policy compiles") }
    // Whatever lies beyond the end must not matter.
    var outcomes: [JSONScanOutcome] = []
    var slices: [JSONSlice] = []
    for padding in [0x00, 0x20, 0x22, 0x7D, 0x30] as [UInt8] {
        outcomes.append(padded(input, padding) { scanner.scan($0, paths: root, into: &slices) })
    }
    for outcome in outcomes { try claim(outcome == outcomes[0], "bytes beyond the end change the verdict") }

    let hasMark = input.starts(with: [0xEF, 0xBB, 0xBF])
    var grammar = JSONGrammar(hasMark ? Array(input.dropFirst(3)) : input)
    let isByGrammar = grammar.isJSON
    switch outcomes[0] {
    case .scanned: try claim(isByGrammar && grammar.depth <= JSONScanner.depthMax, "scanned, but no JSON by RFC 8259")
    case .notJSON: try claim(!isByGrammar, "JSON by RFC 8259, but not scanned")
    case .tooDeep: try claim(grammar.depth > JSONScanner.depthMax || !isByGrammar, "too deep, but it is not")
    case .tooLarge, .noMemory: throw Broken(property: "neither size nor memory were short")
    }
    if !hasMark {
        try claim(padded(input, 0) { scanner.validate($0) } == outcomes[0], "validate and scan agree")
    }
    if outcomes[0] == .scanned {
        try claim(slices.count == 1 && slices[0].kind != .missing, "the root is found")
        try claim(isJSON(input[slices[0].range]), "the root is JSON")
    }
    if outcomes[0] == .scanned, !hasMark {
        let renamed = bytes.isEmpty ? [] : JSONKeyCase.camelCased(bytes)
        try claim(isJSON(renamed) && renamed.count <= input.count, "names in camelCase leave JSON that is no longer")
    }
    try checkEnvelope(input, policy, scanner, isJSON: outcomes[0] == .scanned)
    try checkWriter(input)
}

private let policy: PolicyPlan? = {
    var settings = PolicySettings(name: "envelope")
    if let code = JSONPath("code"), let pattern = TextPattern("O*[!a]?") {
        settings.success = .any([
            .equals(code, .number("0")), .test(SuccessTest(path: code, condition: .matches(pattern), missing: .failure)),
            .not(.test(SuccessTest(path: code, condition: .range(JSONNumberRange(lowest: "-1e3", highest: nil))))),
        ])
    }
    settings.codePath = JSONPath("code")
    settings.dataPath = JSONPath("data")
    settings.messagePaths = ["message", "msg", "error.0.reason", "a.b"].compactMap { JSONPath($0) }
    settings.view = .data
    return PolicyPlan(settings)
}()

private func padded<Result>(_ input: [UInt8], _ padding: UInt8, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let storage = input + [UInt8](repeating: padding, count: JSONScanner.padding)
    return storage.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<input.count])) }
}

private func isJSON(_ bytes: some Sequence<UInt8>) -> Bool {
    var grammar = JSONGrammar(Array(bytes))
    return grammar.isJSON
}

private func checkEnvelope(_ input: [UInt8], _ policy: PolicyPlan, _ scanner: JSONScanner, isJSON isScanned: Bool) throws(Broken) {
    let judge = EnvelopeJudge(scanner: scanner)
    var body = input
    let verdict = judge.judge(padding: &body, by: policy)
    try claim(body == input, "judging leaves the body as it was")
    switch verdict {
    case .notJSON: try claim(!isScanned, "the judge refuses what the scanner takes")
    case .accepted(.whole): break
    case .accepted(.slice(let range)):
        try claim(range.upperBound <= input.count, "the data lies within the body")
        try claim(isJSON(input[range]), "the data is JSON itself")
    case .accepted(.text(let text)): try claim(String(validating: text, as: UTF8.self) != nil, "a text is UTF-8")
    case .rejected(let failure):
        if let code = failure.rawCode { try claim(isJSON(code), "a code is JSON itself") }
        for text in [failure.codeText, failure.message].compactMap({ $0 }) {
            try claim(!text.isEmpty && String(validating: text, as: UTF8.self) != nil, "a message is UTF-8 and says something")
        }
    }
}

/// Any bytes, written as a string, are JSON; those that are UTF-8 come back as they were.
private func checkWriter(_ input: [UInt8]) throws(Broken) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("s")
    input.withUnsafeBytes { writer.string(bytes: $0) }
    writer.endObject()
    try claim(isJSON(writer.bytes), "a written string is JSON")
    guard String(validating: input, as: UTF8.self) != nil, let path = JSONPath("s"), let set = JSONPathSet([path]) else { return }
    var slices: [JSONSlice] = []
    let back = padded(writer.bytes, 0) { bytes -> [UInt8] in
        guard JSONScanner().scan(bytes, paths: set, into: &slices) == .scanned, let slice = slices.first else { return [] }
        return JSONValueReader(bytes).stringBytes(slice)
    }
    try claim(back == input, "a written string reads back")
}
