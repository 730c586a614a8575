// The response methods that ask the interceptor: the seeds' `intercept…` family.
// Domain: cold

public import Foundation

extension CryoResult {
    /// Waits for the business data of a success as bytes.
    public func interceptDataAsync() async throws -> Data {
        try await value { [self] finished in intercepted(.data, finished) { $0 } }
    }

    /// Waits for the complete body of a success as JSON.
    public func interceptJSONAsync() async throws -> JSON {
        try await value { [self] finished in intercepted(.complete, finished, ModelDecoding.json) }
    }

    /// Calls `success` with the complete body of a success as JSON. A failure goes to the interceptor's `handleFailure` first, then its message to `failed`
    /// and the whole of it to `failure`.
    @discardableResult
    public func interceptJSON(
        success: @escaping @Sendable (JSON) -> Void, failed: @escaping @Sendable (String) -> Void = { _ in },
        failure: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch intercepted(.complete, finished, ModelDecoding.json) {
            case .success(let value): success(value)
            case .failure(let cause):
                failed(cause.message)
                failure(cause)
            }
        }
        return self
    }

    /// Waits for the business data of a success as a model.
    public func interceptModelAsync<Model: Decodable & Sendable>(_ type: Model.Type) async throws -> Model {
        try await value { [self] finished in intercepted(.data, finished, { try ModelDecoding.model(type, of: $0) }) }
    }

    /// Calls `success` with the business data of a success as a model. A failure goes to the interceptor's `handleFailure` first, then its message to `failed`
    /// and the whole of it to `failure`.
    @discardableResult
    public func interceptModel<Model: Decodable & Sendable>(
        type: Model.Type, success: @escaping @Sendable (Model) -> Void, failed: @escaping @Sendable (String) -> Void = { _ in },
        failure: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch intercepted(.data, finished, { try ModelDecoding.model(type, of: $0) }) {
            case .success(let value): success(value)
            case .failure(let cause):
                failed(cause.message)
                failure(cause)
            }
        }
        return self
    }

    /// Waits for the business data of a success as an array of models.
    public func interceptModelArrayAsync<Model: Decodable & Sendable>(_ type: Model.Type) async throws -> [Model] {
        try await value { [self] finished in intercepted(.data, finished, { try ModelDecoding.array(type, of: $0) }) }
    }

    /// Calls `success` with the business data of a success as an array of models. A failure goes to the interceptor's `handleFailure` first, then its message to `failed`
    /// and the whole of it to `failure`.
    @discardableResult
    public func interceptModelArray<Model: Decodable & Sendable>(
        type: Model.Type, success: @escaping @Sendable ([Model]) -> Void, failed: @escaping @Sendable (String) -> Void = { _ in },
        failure: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch intercepted(.data, finished, { try ModelDecoding.array(type, of: $0) }) {
            case .success(let value): success(value)
            case .failure(let cause):
                failed(cause.message)
                failure(cause)
            }
        }
        return self
    }

    /// Waits for the complete body of a success as a model.
    public func interceptModelCompleteDataAsync<Model: Decodable & Sendable>(_ type: Model.Type) async throws -> Model {
        try await value { [self] finished in intercepted(.complete, finished, { try ModelDecoding.model(type, of: $0) }) }
    }

    /// Calls `success` with the complete body of a success as a model. A failure goes to the interceptor's `handleFailure` first, then its message to `failed`
    /// and the whole of it to `failure`.
    @discardableResult
    public func interceptModelCompleteData<Model: Decodable & Sendable>(
        type: Model.Type, success: @escaping @Sendable (Model) -> Void, failed: @escaping @Sendable (String) -> Void = { _ in },
        failure: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch intercepted(.complete, finished, { try ModelDecoding.model(type, of: $0) }) {
            case .success(let value): success(value)
            case .failure(let cause):
                failed(cause.message)
                failure(cause)
            }
        }
        return self
    }
}
