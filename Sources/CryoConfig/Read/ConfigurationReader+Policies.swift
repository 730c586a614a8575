// Owns building policies: conditions, presets, what failures become.
// Domain: cold

import CryoJSON
import CryoPipeline

extension ConfigurationReader {
    mutating func policy(_ name: String, _ node: YAMLNode) -> PolicySettings {
        let path = "policies.\(name)"
        var settings = PolicySettings(name: name)
        let preset = node["success"]?.text.flatMap { EnvelopePreset.named($0) }
        if let success = node["success"] { settings.success = preset?.success ?? self.success(success, at: "\(path).success") }
        choose(node["reply"], &settings.view)
        settings.errorMessagePaths = texts(node["error_body"]?["message"]).compactMap { JSONPath($0) }
        settings.errorMessageFallback = node["error_body"]?["fallback"]?.text
        settings.messagePaths = paths(node["message"]) ?? preset?.messagePaths ?? Catalogue.messagePathsStandard.compactMap { JSONPath($0) }
        settings.codePath = node["code"]?.text.map { JSONPath($0) } ?? preset?.codePath ?? JSONPath(Catalogue.codePathStandard)
        let standard = settings.view == .data ? preset?.dataPath ?? JSONPath(Catalogue.dataPathStandard) : nil
        settings.dataPath = node["data"]?.text.map { JSONPath($0) } ?? standard
        choose(node["keys"], &settings.keys)
        if settings.keys != .asIs, settings.view != .data {
            note(node["keys"], "\(path).keys: only a payload's names change: needs reply: data")
        }
        choose(node["non_json"], &settings.nonJSON)
        choose(node["empty"], &settings.empty)
        choose(node["oversize"], &settings.oversize)
        choose(node["streams"], &settings.streams)
        assign(node["max_body_bytes"], to: &settings.bodyBytesMax)
        choose(node["failure_format"], &settings.failureFormat)
        failure(node["failure"], &settings)
        settings.hooks = hooks(node["hooks"], at: "\(path).hooks")
        if let success = settings.success, success.testCount > SuccessPredicate.testsMax {
            note(node["success"], "\(path).success: more than \(SuccessPredicate.testsMax) tests")
        } else if PolicyPlan(settings) == nil {
            note(node, "\(path): more than \(JSONPathSet.pathsMax) different paths")
        }
        return settings
    }

    private func paths(_ node: YAMLNode?) -> [JSONPath]? { node.map { texts($0).compactMap { JSONPath($0) } } }

    // MARK: failure

    private func failure(_ node: YAMLNode?, _ settings: inout PolicySettings) {
        assign(node?["status"], to: &settings.failureStatus)
        choose(node?["mode"], &settings.failureMode)
        for entry in node?["codes"]?.entries ?? [] { settings.codes[entry.key] = codeRule(entry.value) }
        settings.sessionExpiredCodes = texts(node?["session_expired"])
        for entry in node?["messages"]?.entries ?? [] {
            guard let text = localizedText(entry.value) else { continue }
            switch try? parseFailureName(entry.key) {
            case .status(let status): settings.statusMessages[status] = text
            case .reason(let reason): settings.reasonMessages[reason] = text
            case nil: break
            }
        }
    }

    private func codeRule(_ node: YAMLNode) -> CodeRule {
        var rule = CodeRule()
        let status = node.isMapping ? node["status"] : node
        rule.status = status?.integer.map { UInt16(clamping: $0) }
        rule.name = node["name"]?.text
        rule.message = node["message"].flatMap(localizedText)
        rule.isRetryable = node["retryable"]?.boolean
        rule.endsSession = node["session_expired"]?.boolean ?? false
        return rule
    }

    private func localizedText(_ node: YAMLNode) -> LocalizedText? {
        if let text = node.text { return LocalizedText(text) }
        let text = LocalizedText(chinese: node["zh"]?.text, english: node["en"]?.text)
        return text.chinese == nil && text.english == nil ? nil : text
    }

    // MARK: success

    /// Nil where the check has already told why.
    mutating func success(_ node: YAMLNode, at path: String) -> SuccessPredicate? {
        guard node.isMapping else { return nil }
        if let parts = node["all"] ?? node["any"] {
            refuse(["field", "missing", "strict"], in: node, at: path, "belongs to the conditions in the list")
            let name = node["all"] == nil ? "any" : "all"
            if case .sequence(let items) = parts.content, items.isEmpty { note(parts, "\(path).\(name): needs at least one condition") }
            var predicates: [SuccessPredicate] = []
            for (index, item) in parts.items.enumerated() {
                if let predicate = success(item, at: "\(path).\(name)[\(index)]") { predicates.append(predicate) }
            }
            return node["all"] == nil ? .any(predicates) : .all(predicates)
        }
        if let part = node["not"] {
            refuse(["field", "missing", "strict"], in: node, at: path, "belongs to the condition in not")
            return success(part, at: "\(path).not").map { .not($0) }
        }
        guard let condition = condition(node, at: path) else { return nil }
        guard let field = node["field"] else {
            note(node, "\(path): missing key \"field\"")
            return nil
        }
        guard let fieldPath = field.text.flatMap({ JSONPath($0) }) else { return nil }
        var test = SuccessTest(path: fieldPath, condition: condition)
        choose(node["missing"], &test.missing)
        test.isStrict = node["strict"]?.boolean ?? test.isStrict
        return .test(test)
    }

    private mutating func condition(_ node: YAMLNode, at path: String) -> SuccessTest.Condition? {
        if let value = node["equals"] { return scalar(value).map { .equals($0) } }
        if let list = node["in"] {
            if case .sequence(let items) = list.content, items.isEmpty { note(list, "\(path).in: needs at least one value") }
            return .oneOf(list.items.compactMap(scalar))
        }
        if let range = node["range"] { return self.range(range, at: "\(path).range") }
        if let pattern = node["matches"]?.text { return (try? parseTextPattern(pattern)).map { .matches($0) } }
        let answersMissing = "says what a missing field is itself"
        if let exists = node["exists"]?.boolean {
            refuse(["missing", "strict"], in: node, at: path, "has no meaning here: exists \(answersMissing)")
            return .exists(exists)
        }
        if let truthy = node["truthy"]?.boolean {
            refuse(["missing", "strict"], in: node, at: path, "has no meaning here: truthy \(answersMissing)")
            return .truthy(truthy)
        }
        return nil
    }

    private mutating func range(_ node: YAMLNode, at path: String) -> SuccessTest.Condition? {
        let range = JSONNumberRange(lowest: number(node["min"]), highest: number(node["max"]))
        guard range.lowest != nil || range.highest != nil else {
            if node.isMapping, node.entries.isEmpty { note(node, "\(path): needs min or max") }
            return nil
        }
        if range.isEmpty { note(node["max"], "\(path).max: less than min") }
        return .range(range)
    }

    private func number(_ node: YAMLNode?) -> String? { node?.text.flatMap { isJSONNumber($0) ? $0 : nil } }

    private mutating func refuse(_ keys: [String], in node: YAMLNode, at path: String, _ reason: String) {
        for key in keys { note(node[key], "\(path).\(key): \(reason)") }
    }
}
