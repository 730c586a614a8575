// The response methods that pass the interceptor by: the seeds' `response…` family.
// Domain: cold

public import Foundation

extension CryoResult {
    /// Waits for the answer and gives it unjudged, whatever its status. Throws only when no complete answer came; the failure keeps what did.
    public func responseAsync() async throws -> CryoResponse {
        try await value { finished in
            guard let error = finished.response.error else { return .success(finished.response) }
            return .failure(CryoFailure(error, response: finished.response, revision: finished.revision))
        }
    }

    /// Waits for the body of a 2xx.
    public func responseDataAsync() async throws -> Data {
        try await value { [self] finished in direct(finished, { $0 }) }
    }

    /// Calls `success` with the body of a 2xx, or `failed` with the failure.
    @discardableResult
    public func responseData(
        success: @escaping @Sendable (Data) -> Void, failed: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch direct(finished, { $0 }) {
            case .success(let value): success(value)
            case .failure(let failure): failed(failure)
            }
        }
        return self
    }

    /// Waits for the body of a 2xx as JSON.
    public func responseJSONAsync() async throws -> JSON {
        try await value { [self] finished in direct(finished, ModelDecoding.json) }
    }

    /// Calls `success` with the body of a 2xx as JSON, or `failed` with the failure.
    @discardableResult
    public func responseJSON(
        success: @escaping @Sendable (JSON) -> Void, failed: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch direct(finished, ModelDecoding.json) {
            case .success(let value): success(value)
            case .failure(let failure): failed(failure)
            }
        }
        return self
    }

    /// Waits for the body of a 2xx as a model.
    public func responseModelAsync<Model: Decodable & Sendable>(_ type: Model.Type) async throws -> Model {
        try await value { [self] finished in direct(finished, { try ModelDecoding.model(type, of: $0) }) }
    }

    /// Calls `success` with the body of a 2xx as a model, or `failed` with the failure.
    @discardableResult
    public func responseModel<Model: Decodable & Sendable>(
        type: Model.Type, success: @escaping @Sendable (Model) -> Void, failed: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch direct(finished, { try ModelDecoding.model(type, of: $0) }) {
            case .success(let value): success(value)
            case .failure(let failure): failed(failure)
            }
        }
        return self
    }

    /// Waits for the body of a 2xx as an array of models.
    public func responseModelArrayAsync<Model: Decodable & Sendable>(_ type: Model.Type) async throws -> [Model] {
        try await value { [self] finished in direct(finished, { try ModelDecoding.array(type, of: $0) }) }
    }

    /// Calls `success` with the body of a 2xx as an array of models, or `failed` with the failure.
    @discardableResult
    public func responseModelArray<Model: Decodable & Sendable>(
        type: Model.Type, success: @escaping @Sendable ([Model]) -> Void, failed: @escaping @Sendable (CryoFailure) -> Void = { _ in }
    ) -> CryoResult {
        enqueue { [self] finished in
            switch direct(finished, { try ModelDecoding.array(type, of: $0) }) {
            case .success(let value): success(value)
            case .failure(let failure): failed(failure)
            }
        }
        return self
    }
}
