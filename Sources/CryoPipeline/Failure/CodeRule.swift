// What a policy says about business codes, and the texts it puts in the place of the table's.
// Domain: pure

/// A text in the two languages; where one is missing the other serves.
package struct LocalizedText: Sendable, Equatable {
    package var chinese: String?
    package var english: String?

    package init(chinese: String?, english: String?) {
        self.chinese = chinese
        self.english = english
    }

    /// The same text for everybody.
    package init(_ text: String) { self.init(chinese: text, english: text) }

    func bytes(in language: MessageLanguage) -> [UInt8]? {
        let preferred = language == .chinese ? chinese ?? english : english ?? chinese
        return preferred.map { Array($0.utf8) }
    }
}

/// What one business code, or all that begin alike, become. nil: as for any other code.
package struct CodeRule: Sendable, Equatable, ExpressibleByIntegerLiteral {
    package var status: UInt16?
    package var name: String?
    package var message: LocalizedText?
    package var isRetryable: Bool?
    package var endsSession = false

    package init(
        status: UInt16? = nil, name: String? = nil, message: LocalizedText? = nil, isRetryable: Bool? = nil, endsSession: Bool = false
    ) {
        self.status = status
        self.name = name
        self.message = message
        self.isRetryable = isRetryable
        self.endsSession = endsSession
    }

    /// The short form: a status and nothing else.
    package init(integerLiteral status: UInt16) { self.init(status: status) }
}

/// The rules of a policy, ready to be looked up: an exact code first, then the longest beginning, `*` last.
struct CodeTable: Sendable {
    /// The seeds' name of a code that has none (ledger BX12).
    static let unknownName = "UnknownError"

    private let exact: [[UInt8]: CodeRule]
    private let beginnings: [(bytes: [UInt8], rule: CodeRule)]
    /// Names are used at all: every failure gets one.
    let namesCodes: Bool

    init(_ rules: [String: CodeRule]) {
        var exact: [[UInt8]: CodeRule] = [:]
        var beginnings: [(bytes: [UInt8], rule: CodeRule)] = []
        for (code, rule) in rules {
            let bytes = Array(code.utf8)
            if bytes.last == UInt8(ascii: "*") { beginnings.append((bytes.dropLast(), rule)) } else { exact[bytes] = rule }
        }
        self.exact = exact
        self.beginnings = beginnings.sorted { $0.bytes.count > $1.bytes.count }
        namesCodes = rules.values.contains { $0.name != nil }
    }

    /// A failure without a code has the rule of `*`, if any.
    func rule(for code: [UInt8]?) -> CodeRule? {
        if let code, let rule = exact[code] { return rule }
        let code = code ?? []
        return beginnings.first { code.starts(with: $0.bytes) }?.rule
    }
}
