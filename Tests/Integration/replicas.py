"""Several gateways that share one login through a Redis."""

from gateway import configuration


def shared(endpoint, server, key="cryonet:test", **parts):
    """The `tokens.app` section of a replica; the refresh window is wide, because tests rotate faster than anybody would."""
    redis = {"address": server.address, "key": key, **parts.pop("redis", {})}
    section = endpoint.configuration(refresh={"window": {"seconds": 1, "max": 1000}, "timeout_ms": 20000})
    return {**section, "store": {"redis": redis}, **parts}


def replicas(make, upstream, endpoint, server, count=2, env=None, **parts):
    config = configuration(upstream, route={"token": "app"}, tokens={"app": shared(endpoint, server, **parts)})
    return [make(config, endpoint=endpoint, env=env) for _ in range(count)]
