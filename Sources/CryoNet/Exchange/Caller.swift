// Runs one request: interceptor, token, a call through the pipeline, and what came of it as a response.
// Domain: cold

import CryoCoding
import CryoHTTP
import CryoIO
import CryoPipeline
import CryoSync
import Foundation

/// What became of a request, before it is judged.
struct Finished: Sendable {
    var response: CryoResponse
    /// The login's revision when the request was made (ledger AS4).
    var revision: UUID?
}

struct Caller: Sendable {
    private let bridge: TokenBridge
    private let retry: RetrySettings

    init(configuration: CryoNetConfiguration) {
        bridge = TokenBridge.of(configuration.tokenManager, timeout: CallPlan.seconds(configuration.defaultTimeout))
        retry = CallPlan.retry(configuration.retry)
    }

    func run(_ prepared: Result<CryoRequest, RequestFlaw>, interceptor: (any RequestInterceptorProtocol)?) async -> Finished {
        let original: CryoRequest
        switch prepared {
        case .success(let request): original = request
        case .failure(let flaw): return Finished(response: .unsent(flaw.request, flaw.error))
        }
        let session = interceptor?.authenticationSession
        if bridge.isRefreshingHere { return await runInsideRefresh(original, session: session, interceptor: interceptor) }
        let standing = await bridge.synchronize(session: session)
        var request = original
        if let interceptor { request = await interceptor.interceptRequest(original, tokenManager: bridge.manager) }
        let authorization = request.value(forHTTPHeaderField: "Authorization")
        let isInterceptors =
            authorization != original.value(forHTTPHeaderField: "Authorization") && authorization != standing.token.map { "Bearer \($0)" }
        let store = standing.token == nil || isInterceptors ? nil : bridge.store
        return await finish(request, store: store, revision: standing.revision)
    }

    /// Sent once with the token there is: waiting for a refresh would be waiting for itself (ledger RF10).
    private func runInsideRefresh(
        _ original: CryoRequest, session: (any AuthenticationSessionManaging)?, interceptor: (any RequestInterceptorProtocol)?
    ) async -> Finished {
        var request = original
        if let interceptor { request = await interceptor.interceptRequest(original, tokenManager: bridge.manager) }
        if request.value(forHTTPHeaderField: "Authorization") == nil, let token = await bridge.manager.getToken(), !token.isEmpty {
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        }
        return await finish(request, store: nil, revision: await session?.snapshot().revision)
    }

    private func finish(_ request: CryoRequest, store: CredentialStore?, revision: UUID?) async -> Finished {
        do {
            let call = try CallPlan(request: request, store: store, retry: retry).callRequest()
            let reply = await Self.send(call, on: try NetworkRuntime.shared.get())
            return Finished(response: .made(of: reply, for: request), revision: revision)
        } catch {
            let flaw = error as? CryoError ?? CryoError(.requestNotAdapted, underlying: error)
            return Finished(response: .unsent(request, flaw), revision: revision)
        }
    }

    /// Sends, and cancels the call with the task.
    private static func send(_ request: CallRequest, on runtime: NetworkRuntime) async -> CallReply {
        let cell = Mutex<InProcessCall?>(nil)
        // The worker's writes are handed over under a lock: the continuation's own ordering is not one that the thread sanitizer sees.
        let answer = Mutex(CallReply(outcome: .cancelled))
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume() }
                let call = InProcessCall(request, on: runtime) { reply in
                    answer.withLock { $0 = reply }
                    continuation.resume()
                }
                cell.withLock { $0 = call }
                runtime.submit { call.start() }
                // Cancelled after the check above, perhaps before the handler could find the call.
                if Task.isCancelled { runtime.submit { call.cancel() } }
            }
        } onCancel: {
            guard let call = cell.withLock({ $0 }) else { return }
            runtime.submit { call.cancel() }
        }
        return answer.withLock { $0 }
    }
}

extension CryoResponse {
    /// Nothing was sent.
    static func unsent(_ request: CryoRequest, _ error: CryoError) -> CryoResponse {
        CryoResponse(request: request, statusCode: nil, error: error, attempts: 0)
    }

    static func made(of reply: CallReply, for request: CryoRequest) -> CryoResponse {
        var error: CryoError?
        switch reply.outcome {
        case .answered: break
        case .cancelled: error = CryoError(.cancelled)
        case .failed(let reason): error = CryoError(reason, status: reply.head?.status)
        }
        var body = reply.body
        if !body.isEmpty, error == nil, let coding = reply.head?.fields.value(of: "content-encoding") {
            switch decoded(body, coding) {
            case .identity: break
            case .decoded(let bytes): body = bytes
            case .tooLarge: error = CryoError(.responseTooLarge, status: reply.head?.status)
            case .broken, .unknownCoding: error = CryoError(.responseMalformed, status: reply.head?.status, detail: "broken content coding")
            }
        }
        let status: Int?
        if case .cancelled = reply.outcome { status = nil } else { status = reply.head.map { Int($0.status) } }
        return CryoResponse(
            request: request, statusCode: status, headers: reply.head.map(Self.headers) ?? [], data: Data(body), error: error,
            attempts: reply.attempts)
    }

    private static func decoded(_ body: [UInt8], _ coding: [UInt8]) -> DecodedBody {
        body.withUnsafeBytes { body in
            coding.withUnsafeBytes {
                ContentDecoder.decode(body, contentEncoding: $0, bytesMax: InProcessCall.responseBytesMax, padding: 0)
            }
        }
    }

    private static func headers(of head: ResponseHead) -> [HTTPHeader] {
        head.fields.lines.filter { !$0.isRemoved }.map { line in
            HTTPHeader(
                name: String(decoding: head.fields.bytes[line.name], as: UTF8.self),
                value: String(decoding: head.fields.bytes[line.value], as: UTF8.self))
        }
    }
}
