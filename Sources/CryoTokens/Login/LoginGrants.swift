// Tokens from configurable JSON or form calls whose answers may be envelopes.
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoJSON
import CryoPipeline

struct LoginGrants: TokenGrants {
    private let settings: LoginSettings
    private let lifetime: TokenLifetime
    private let call: EndpointCall
    private let refresh: TokenCallTemplate?
    private let signIn: TokenCallTemplate?
    let presentsRefreshToken: Bool
    private let presentsToken: Bool

    init(_ settings: LoginSettings, lifetime: TokenLifetime, call: @escaping EndpointCall) {
        self.settings = settings
        self.lifetime = lifetime
        self.call = call
        refresh = settings.refresh.map { TokenCallTemplate($0.call) }
        signIn = settings.signIn.map { TokenCallTemplate($0.call) }
        presentsRefreshToken = refresh?.usesRefreshToken ?? false
        presentsToken = refresh?.usesToken ?? false
    }

    /// A refresh that presents nothing is a login in itself.
    var canIssue: Bool { signIn != nil || (refresh != nil && !presentsRefreshToken && !presentsToken) }

    func renew(_ presented: Secret?, _ current: Credential?, deadline: UInt64) -> Result<IssuedToken, SourceTrouble>? {
        guard let refresh, let fields = settings.refresh?.fields else { return nil }
        if presentsRefreshToken, presented == nil { return nil }
        if presentsToken, current == nil { return nil }
        return ask(
            refresh, fields, name: "the refresh call", token: current?.token, refreshToken: presented, deadline: deadline)
    }

    func issue(deadline: UInt64) -> Result<IssuedToken, SourceTrouble>? {
        guard let signIn, let fields = settings.signIn?.fields else { return nil }
        return ask(signIn, fields, name: "the login call", deadline: deadline)
    }

    private func ask(
        _ template: TokenCallTemplate, _ fields: TokenFields, name: String, token: Secret? = nil, refreshToken: Secret? = nil,
        deadline: UInt64
    ) -> Result<IssuedToken, SourceTrouble> {
        let now = Clock.unixSeconds()
        return template.filled(token: token, refreshToken: refreshToken, deadline: deadline)
            .flatMap { call($0) }
            .flatMap { judge($0, fields, name: name, now: now) }
    }

    /// The status first, then the envelope, then the fields: a 200 with a failure code is a refused login.
    private func judge(
        _ answer: EndpointAnswer, _ fields: TokenFields, name: String, now: Int64
    ) -> Result<IssuedToken, SourceTrouble> {
        let told = "\(name) was answered \(answer.status)"
        guard (200...299).contains(answer.status) else { return .failure(refusal(answer, told)) }
        if let oddity = TokenEndpoint.oddity(of: answer.body) {
            return .failure(SourceTrouble(oddity.outcome, "\(told) with \(oddity.detail)"))
        }
        var paths = [fields.token]
        let refreshTokenIndex = Self.add(fields.refreshToken, to: &paths)
        let expiresInIndex = Self.add(fields.expiresIn, to: &paths)
        let expiresAtIndex = Self.add(fields.expiresAt, to: &paths)
        let codeIndex = Self.add(settings.codePath, to: &paths)
        let success = settings.success.map { SuccessProgram($0) { Self.index(of: $0, in: &paths) } }
        guard let members = JSONMembers(answer.body, paths: paths, success: success) else {
            return .failure(SourceTrouble(.answerNotJSON, "\(told) without JSON"))
        }
        guard members.isSuccess else { return .failure(refusal(members, codeIndex, name)) }
        guard let token = members.text(0) else {
            let isAbsent = members.isAbsent(0)
            return .failure(
                SourceTrouble(
                    isAbsent ? .tokenAbsent : .tokenWrongType,
                    "\(name) was answered with \(isAbsent ? "no" : "no usable") token at \(fields.token)"))
        }
        if let flaw = SecretResolver.flaw(of: token) { return .failure(SourceTrouble(.tokenUnusable, "the token of \(name) \(flaw)")) }
        let refreshToken = refreshTokenIndex.flatMap { members.text($0) }
        if let flaw = refreshToken.flatMap({ SecretResolver.flaw(of: $0) }) {
            return .failure(SourceTrouble(.tokenUnusable, "the refresh token of \(name) \(flaw)"))
        }
        var lifetimeTold = members.lifetime(expiresInIndex)
        if lifetimeTold == .nothing { lifetimeTold = members.moment(expiresAtIndex) }
        return lifetime.issued(
            Secret(token), refreshToken: refreshToken.map { Secret($0) }, told: lifetimeTold, now: now, issuerNow: answer.date,
            random: .random(in: 0...UInt64.max))
    }

    // MARK: Refusals

    /// Which statuses refuse for good is configured; a body whose code is known to pass outweighs them.
    private func refusal(_ answer: EndpointAnswer, _ told: String) -> SourceTrouble {
        guard settings.refusalStatuses.contains(UInt16(clamping: answer.status)) else { return SourceTrouble(.answerStatus, told) }
        if let path = settings.codePath, TokenEndpoint.oddity(of: answer.body) == nil,
            let code = JSONMembers(answer.body, paths: [path])?.code(0), settings.transientCodes.contains(code)
        {
            return SourceTrouble(.answerCode, told)
        }
        return SourceTrouble(.statusRefused, told)
    }

    private func refusal(_ members: JSONMembers, _ index: Int?, _ name: String) -> SourceTrouble {
        let code = index.flatMap { members.code($0) }
        let isTransient = code.map { settings.transientCodes.contains($0) } ?? false
        let isDefinite = settings.refusalCodes.isEmpty || (code.map { settings.refusalCodes.contains($0) } ?? false)
        // Only a number is repeated: text might be anything.
        let shown = index.flatMap { members.integer($0) }.map { " \($0)" } ?? ""
        let what = settings.codePath.map { "its \($0)\(shown)" } ?? "the condition of success"
        return SourceTrouble(isDefinite && !isTransient ? .codeRefused : .answerCode, "\(name) was refused by \(what)")
    }

    private static func add(_ path: JSONPath?, to paths: inout [JSONPath]) -> Int? { path.map { index(of: $0, in: &paths) } }

    /// One scan looks for every path once, whoever wants it.
    private static func index(of path: JSONPath, in paths: inout [JSONPath]) -> Int {
        if let index = paths.firstIndex(of: path) { return index }
        paths.append(path)
        return paths.count - 1
    }
}
