// One request and those who wait for its answer: sent when the first asks, answered to all in the order they asked.
// Domain: cold

import CryoPipeline
import CryoSync
import Foundation

/// A described request (source: seed README, 响应处理). The first response method sends it; further ones share the one answer, and their
/// callbacks come one after the other, in order, on no particular thread. It lives until the last is answered, held or not.
///
/// `response…` methods give the answer without interceptor and `handleFailure`; a status outside 200…299 is a failure all the same.
/// `intercept…` methods ask the interceptor, and without one fail with kind `interceptorMissing`. The `…Async` methods throw
/// `CryoFailure` only; cancelling the task that waits cancels the request.
public final class CryoResult: Sendable {
    private struct State {
        var work: Task<Finished, Never>?
        var tail: Task<Void, Never>?
        var isCancelled = false
        var hasToldFailure = false
    }

    let interceptor: (any RequestInterceptorProtocol)?
    private let operation: @Sendable () async -> Finished
    private let state = Mutex(State())

    init(interceptor: (any RequestInterceptorProtocol)?, operation: @escaping @Sendable () async -> Finished) {
        self.interceptor = interceptor
        self.operation = operation
    }

    /// Cancels the request, also one that is not sent yet. All who wait are told kind `cancelled`; nobody is after the answer came.
    public func cancel() {
        let work = state.withLock { state in
            state.isCancelled = true
            return state.work
        }
        work?.cancel()
    }

    // MARK: Waiting

    /// Calls `body` with the outcome, after those who asked before.
    func enqueue(_ body: @escaping @Sendable (Finished) -> Void) {
        let operation = operation
        state.withLock { state in
            let work = state.work ?? Task { await operation() }
            if state.isCancelled { work.cancel() }
            state.work = work
            let previous = state.tail
            state.tail = Task {
                await previous?.value
                body(await work.value)
            }
        }
    }

    /// Waits for the outcome, made into a value by `body`.
    func value<Value: Sendable>(_ body: @escaping @Sendable (Finished) -> Result<Value, CryoFailure>) async throws -> Value {
        let result: Result<Value, CryoFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in enqueue { continuation.resume(returning: body($0)) } }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }

    // MARK: Judging

    /// The body of a 2xx, past any interceptor.
    func direct<Value>(_ finished: Finished, _ decode: (Data) throws -> Value) -> Result<Value, CryoFailure> {
        do {
            return .success(try decode(try finished.response.checkedData().get()))
        } catch {
            return .failure(CryoFailure(error, response: finished.response, revision: finished.revision))
        }
    }

    enum View { case data, complete }

    /// What the interceptor makes of the answer; a failure is told to its `handleFailure` first.
    func intercepted<Value>(_ view: View, _ finished: Finished, _ decode: (Data) throws -> Value) -> Result<Value, CryoFailure> {
        guard let interceptor else {
            return .failure(
                CryoFailure(
                    kind: .interceptorMissing, message: CryoError(.policyMissing, status: nil).message,
                    authenticationRevision: finished.revision, underlyingError: CryoError(.policyMissing, status: nil)))
        }
        let response = finished.response
        do {
            let judged = view == .data ? interceptor.interceptResponse(response) : interceptor.interceptResponseWithCompleteData(response)
            let body: Data
            switch judged {
            case .success(let data): body = data
            case .failure(let error):
                let failure = CryoFailure(error, response: response, revision: finished.revision)
                if isFirstToTell() { tell(failure, response.request) }
                return .failure(failure)
            }
            return .success(try decode(body))
        } catch {
            let failure = CryoFailure(error, response: response, revision: finished.revision)
            tell(failure, response.request)
            return .failure(failure)
        }
    }

    /// One refusal of the answer is one failure, however many wait for it; what one model can't be made of is that one's own.
    private func isFirstToTell() -> Bool {
        state.withLock { state in
            defer { state.hasToldFailure = true }
            return !state.hasToldFailure
        }
    }

    private func tell(_ failure: CryoFailure, _ request: CryoRequest) {
        (interceptor as? any CryoFailureHandling)?.handleFailure(failure, request: request)
    }
}

/// Makes models of bodies.
enum ModelDecoding {
    static func model<Model: Decodable>(_ type: Model.Type, of data: Data) throws -> Model {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw CryoError(.modelNotDecoded, message: "\(error)", underlying: error)
        }
    }

    static func array<Model: Decodable>(_ type: Model.Type, of data: Data) throws -> [Model] {
        do {
            return try JSONDecoder().decode([Model].self, from: data)
        } catch {
            throw CryoError(.modelArrayNotDecoded, message: "\(error)", underlying: error)
        }
    }

    static func json(of data: Data) throws -> JSON {
        guard let json = JSON(data: data) else { throw CryoError(.notJSON) }
        return json
    }
}
