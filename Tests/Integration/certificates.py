"""Certificates for TLS upstreams, made by the openssl command: an authority and leaves signed by it."""

import os
import subprocess


def run_openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


class Authority:
    """A certificate authority in `folder`; `leaf()` signs a key pair for some names."""

    def __init__(self, folder, name="authority"):
        self.folder = str(folder)
        self.key = os.path.join(self.folder, f"{name}.key")
        self.certificate = os.path.join(self.folder, f"{name}.pem")
        run_openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN=test {name}", "-keyout", self.key, "-out", self.certificate,
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")

    def leaf(self, names=("DNS:localhost", "IP:127.0.0.1"), label="leaf", days="2"):
        """Return (certificate file, key file) for the given subject alternative names."""
        base = os.path.join(self.folder, label)
        run_openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=test leaf", "-keyout", base + ".key", "-out", base + ".csr")
        with open(base + ".ext", "w", encoding="utf-8") as extensions:
            extensions.write("subjectAltName=" + ",".join(names) + "\n")
        run_openssl("x509", "-req", "-in", base + ".csr", "-CA", self.certificate, "-CAkey", self.key,
                    "-CAcreateserial", "-days", days, "-extfile", base + ".ext", "-out", base + ".pem")
        return base + ".pem", base + ".key"


def public_key_pin(certificate):
    """The `sha256/…` pin (RFC 7469 form) of a certificate's public key."""
    key = subprocess.run(["openssl", "x509", "-in", certificate, "-pubkey", "-noout"],
                         check=True, capture_output=True, timeout=30).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"],
                         input=key, check=True, capture_output=True, timeout=30).stdout
    digest = subprocess.run(["openssl", "dgst", "-sha256", "-binary"],
                            input=der, check=True, capture_output=True, timeout=30).stdout
    encoded = subprocess.run(["openssl", "base64", "-A"], input=digest, check=True, capture_output=True, timeout=30).stdout
    return "sha256/" + encoded.decode()
