/**
 * Makes Deno trust the certificates in SSL_CERT_FILE and SSL_CERT_DIR, as other programs do. Deno
 * reads them only if DENO_TLS_CA_STORE names the system's store. Call it before anything connects.
 */
export function trustOwnCertificates(): void {
  const { env } = Deno;
  const own = ["SSL_CERT_FILE", "SSL_CERT_DIR"].some((name) => Boolean(env.get(name)));
  if (own && !env.get("DENO_TLS_CA_STORE")) env.set("DENO_TLS_CA_STORE", "mozilla,system");
}
