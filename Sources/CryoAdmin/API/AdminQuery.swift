// The query parameters of an admin call, held to those that its row of the table names.
// Domain: cold

struct AdminQuery {
    private var values: [String: String] = [:]

    /// A parameter that the route does not know is a slip of the pen: it is told, not left aside.
    init(_ query: String, of route: [AdminRoute.Parameter]) throws(BodyProblem) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let plain = parts.map { $0.replacing("+", with: " ") }
            guard let name = AdminRoute.decoded(plain[0][...]), let value = plain.count > 1 ? AdminRoute.decoded(plain[1][...]) : "" else {
                throw BodyProblem(text: "the query is not percent-encoded UTF-8")
            }
            guard route.contains(where: { $0.name == name }) else {
                throw BodyProblem(text: "the query may have \(route.map(\.name).joined(separator: ", "))")
            }
            values[name] = value
        }
    }

    /// nil when it is absent or empty.
    func text(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    func integer(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws(BodyProblem) -> Int {
        guard let text = text(name) else { return fallback }
        guard let value = Int(text), range.contains(value) else {
            throw BodyProblem(text: "\(name) is no number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// One of `words`; the first when it is absent.
    func word(_ name: String, of words: [String]) throws(BodyProblem) -> String {
        guard let text = text(name) else { return words[0] }
        guard words.contains(text) else { throw BodyProblem(text: "\(name) is none of \(words.joined(separator: ", "))") }
        return text
    }
}
