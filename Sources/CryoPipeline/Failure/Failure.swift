// One failure, ready to be shown: the seven members of the seeds' CryoFailure and what makes it useful (design §6).
// Domain: pure

import CryoHTTP
import CryoJSON

/// The language of a failure's texts.
package enum MessageLanguage: Sendable {
    case chinese, english

    /// The first of the two that Accept-Language prefers; the seeds' language when it names neither (RFC 9110 §12.5.4).
    static func preferred(_ value: UnsafeRawBufferPointer?) -> MessageLanguage {
        guard let value else { return .chinese }
        var best: (language: MessageLanguage, quality: Int) = (.chinese, 0)
        forEachListElement(value) { element in
            guard element.count >= 2 else { return }
            let first = element[0] | 0x20
            let second = element[1] | 0x20
            let isBorder = element.count == 2 || element[2] == 0x2D || element[2] == 0x3B || element[2] == 0x20
            guard isBorder else { return }
            let language: MessageLanguage
            if first == 0x7A, second == 0x68 {
                language = .chinese
            } else if first == 0x65, second == 0x6E {
                language = .english
            } else {
                return
            }
            let quality = Self.quality(of: element)
            if quality > best.quality { best = (language, quality) }
        }
        return best.language
    }

    /// The `q` parameter in thousandths; 1000 without one, 0 when invalid.
    static func quality(of element: UnsafeRawBufferPointer) -> Int {
        guard let mark = element.lastIndex(of: 0x3D), mark >= 1, element[mark - 1] | 0x20 == 0x71 else { return 1000 }
        var quality = 0
        var scale = 1000
        for index in (mark + 1)..<element.count {
            let byte = element[index]
            if byte == 0x2E { continue }
            guard byte &- 0x30 < 10, scale >= 1 else { return 0 }
            quality += Int(byte - 0x30) * scale
            scale /= 10
        }
        return min(quality, 1000)
    }
}

package struct Failure {
    package let reason: FailureReason
    /// The status the client gets.
    package var status: UInt16
    package var kind: FailureKind
    /// The upstream's status; nil when it never answered.
    package var upstreamStatus: UInt16?
    /// UTF-8 text shown as message and detail.
    package var message: [UInt8]
    /// The business code as raw JSON, a number or a string.
    package var businessCode: [UInt8]?
    package var revision: SessionRevision?
    /// What lies beneath, for people: the refused request's reason, the refresh that failed.
    package var underlying: StaticString?
    package var domain: StaticString
    /// May the same request succeed if it is sent again unchanged? The table's or the business code's answer, unless the first may
    /// have been acted upon.
    package var isRetryable: Bool
    /// The business code's name, where the policy names codes.
    package var codeName: String?
    /// The seeds' number: the business code where it is an integer, else the status, else the table's.
    package var code: Int

    package var step: Step { FailureTable.row(reason).step }

    /// A failure as the table has it.
    package init(_ reason: FailureReason, language: MessageLanguage) {
        let row = FailureTable.row(reason)
        self.reason = reason
        status = row.status
        kind = row.kind
        domain = row.domain
        isRetryable = row.isRetryable
        code = row.code
        message = Array((language == .chinese ? row.chinese : row.english).rawBytes)
    }

    /// The upstream answered with a status outside 200…299 (ledger §K).
    package init(upstreamStatus: UInt16, reason: FailureReason = .upstreamStatus, language: MessageLanguage) {
        self.init(reason, language: language)
        self.upstreamStatus = upstreamStatus
        guard reason == .upstreamStatus else { return }
        status = upstreamStatus
        code = Int(upstreamStatus)
        let text = HTTPStatusText.of(upstreamStatus)
        domain = text.domain
        kind = upstreamStatus == 401 ? .authenticationExpired : .http
        message = Array((language == .chinese ? text.chinese : text.english).rawBytes)
    }
}

/// The seeds' texts for statuses (ledger §K).
enum HTTPStatusText {
    static func of(_ status: UInt16) -> (domain: StaticString, chinese: StaticString, english: StaticString) {
        switch status {
        case 400: ("ClientError", "请求参数错误", "The request's parameters are wrong.")
        case 401: ("AuthError", "身份验证失败", "Authentication failed.")
        case 403: ("AuthError", "访问被拒绝", "Access denied.")
        case 404: ("ClientError", "资源未找到", "Not found.")
        case 405: ("ClientError", "方法不被允许", "Method not allowed.")
        case 500...599: ("ServerError", "服务器错误", "Server error.")
        default: ("HTTPError", "未知HTTP错误", "Unknown HTTP error.")
        }
    }
}
