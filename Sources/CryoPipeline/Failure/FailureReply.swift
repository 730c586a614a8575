// A failure as a whole answer for those who answer requests without an exchange: the admin side.
// Domain: pure

package import CryoHTTP
import CryoJSON

package struct FailureReply {
    package let status: UInt16
    package let fields: FieldSection
    package let body: [UInt8]

    /// `status` nil: the table's. `detail` replaces the table's text; it holds no secret. `acceptLanguage` chooses between the texts.
    package init(
        _ reason: FailureReason, status: UInt16? = nil, detail: String? = nil, underlying: StaticString? = nil, id: [UInt8],
        acceptLanguage: [UInt8]? = nil
    ) {
        let language = acceptLanguage.map { value in value.withUnsafeBytes { MessageLanguage.preferred($0) } } ?? .chinese
        var failure = Failure(reason, language: language)
        if let status {
            failure.status = status
            failure.code = Int(status)
        }
        if let detail { failure.message = Array(detail.utf8) }
        failure.underlying = underlying
        self.status = failure.status
        let facts = FailureBody.Facts(exchangeID: id, requestID: id, route: nil, attempts: 0)
        body = FailureBody.render(failure, facts: facts, held: nil, scanner: JSONScanner())
        var fields = FieldSection()
        fields.append("Content-Type", "application/problem+json")
        fields.append("CryoNet-Failure", Array("\(failure.kind.rawValue)/\(reason.rawValue)".utf8))
        let error = FailureTable.row(reason).proxyStatusError.map { "; error=\($0)" } ?? ""
        fields.append("Proxy-Status", Array("cryonet\(error)".utf8))
        if reason == .adminKeyMissing { fields.append("WWW-Authenticate", "Bearer realm=\"cryonet admin\"") }
        self.fields = fields
    }
}
