"""The raw client over TLS, by Python's ssl."""

import ssl

from client import Client, Ended, READ_SECONDS


def client_context(authority, versions=None, alpn=("http/1.1",), identity=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Python takes a missing close_notify for an end otherwise.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0x80)
    context.load_verify_locations(authority.certificate)
    if versions:
        context.minimum_version, context.maximum_version = versions
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if identity:
        context.load_cert_chain(*identity)
    return context


class TLSClient(Client):
    """One TLS connection to the gateway; `context` says what the client trusts and shows."""

    def __init__(self, port, context, session=None):
        super().__init__(port)
        self.plain = self.socket
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1", session=session, suppress_ragged_eofs=False)
        except BaseException:
            self.plain.close()
            raise

    def receive(self, timeout=None):
        self.socket.settimeout(READ_SECONDS if timeout is None else timeout)
        try:
            data = self.socket.recv(256 * 1024)
        except ssl.SSLError as error:
            if "EOF" not in (error.reason or ""):
                raise
            raise Ended("cut", self.buffer) from error
        except ConnectionError as error:
            raise Ended("reset", self.buffer) from error
        if not data:
            raise Ended("closed", self.buffer)
        self.buffer += data
        return len(data)
