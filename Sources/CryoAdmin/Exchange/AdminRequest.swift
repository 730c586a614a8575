// What a handler of the admin side gets and gives: plain values, free of connections.
// Domain: cold

package import CryoPipeline

package struct AdminRequest: Sendable {
    /// `GET` for HEAD too: the connection leaves the body out.
    package let method: String
    /// The parts of the path that the route's pattern names, percent-decoded.
    package let parameters: [String: String]
    /// Without the question mark; empty when there is none.
    package let query: String
    package let body: [UInt8]
    package let ifNoneMatch: [UInt8]?
    package let acceptLanguage: [UInt8]?
    /// Where a client that comes back to a stream had got to.
    package let lastEventID: [UInt8]?
    package let id: [UInt8]

    /// Empty for a name that the pattern does not have.
    package func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

package struct AdminReply: Sendable {
    package var status: UInt16
    package var contentType: String
    package var body: [UInt8]
    /// Further fields, besides those every answer has.
    package var fields: [(name: String, value: String)] = []
    /// Names the state that the body shows; a client that has it already gets 304.
    package var hasETag = false
    /// The body, if it comes in pieces.
    package var stream: (any AdminStream)?
    /// A failure, rendered when the request's id and language are known.
    package var failure: AdminFailure?

    package init(status: UInt16 = 200, contentType: String = "application/json", body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    package static func stream(_ stream: any AdminStream, contentType: String) -> AdminReply {
        var reply = AdminReply(contentType: contentType, body: [])
        reply.stream = stream
        return reply
    }

    package static func text(_ text: String, status: UInt16 = 200) -> AdminReply {
        AdminReply(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    package static func failure(
        _ reason: FailureReason, status: UInt16? = nil, _ detail: String? = nil, problems: [String] = []
    ) -> AdminReply {
        var reply = AdminReply(status: status ?? 0, body: [])
        reply.failure = AdminFailure(reason: reason, status: status, detail: detail, problems: problems)
        return reply
    }
}

package struct AdminFailure: Sendable {
    package var reason: FailureReason
    package var status: UInt16?
    /// Replaces the table's text. Holds no secret.
    package var detail: String?
    package var underlying: StaticString?
    /// What is wrong with a configuration, one line each.
    package var problems: [String] = []
}

/// Answers once, now or later, on any thread. Called on the admin side's queue, never on a worker.
package typealias AdminHandler = @Sendable (AdminRequest, @escaping @Sendable (AdminReply) -> Void) -> Void
