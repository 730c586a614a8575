// Owns the catalogue's keys of signing requests.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let signStandards = SignSettings(key: .literal(Secret([])))

    static let sign = Section([
        CatalogueKey(
            "algorithm", .choice(SignSettings.Algorithm.allCases.map(\.rawValue)), standard: signStandards.algorithm.rawValue,
            "with a key that the upstream knows too"),
        CatalogueKey("key", .text(.secret), required: true, example: "env:SIGNING_KEY", "the key: env:NAME or file:PATH"),
        CatalogueKey(
            "key_encoding", .choice(SignSettings.KeyEncoding.allCases.map(\.rawValue)), standard: signStandards.keyEncoding.rawValue,
            "text: the key's bytes are those of the text; base64: what the text stands for"),
        CatalogueKey(
            "key_id", .text(.signatureParameter), example: "gateway-2026", "keyid: tells the upstream which key; default: not told"),
        CatalogueKey(
            "label", .text(.signatureLabel), standard: signStandards.label, "names the signature in Signature and Signature-Input"),
        CatalogueKey(
            "components", .list(.text(.signatureComponent)),
            standard: "[" + signStandards.components.map { "\"\($0)\"" }.joined(separator: ", ") + "]",
            "what is covered, in order: @method, @target-uri, @authority, @scheme, @request-target, @path, @query, and fields the request has"
        ),
        CatalogueKey(
            "body", .boolean, standard: "\(signStandards.coversBody)",
            "covers the body by Content-Digest: it is read whole first, one above 8 MiB is refused (413)"),
        CatalogueKey(
            "expires_s", .integer(0...86_400), standard: "\(signStandards.expiresSeconds)", units: "seconds",
            "expires: how long the signature holds; 0: not told"),
        CatalogueKey("nonce", .boolean, standard: "\(signStandards.hasNonce)", "nonce: a random value in each signature"),
        CatalogueKey(
            "alg", .boolean, standard: "\(signStandards.tellsAlgorithm)", "alg: tells the algorithm, which the key's owner knows anyway"),
        CatalogueKey("tag", .text(.signatureParameter), example: "orders", "tag: what the signature is for; default: not told"),
    ])
}
