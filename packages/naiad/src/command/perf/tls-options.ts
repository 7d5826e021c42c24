/** What a client needs of TLS: PEM or DER, as they are in their files. */
export interface TlsOptions {
  /** Absent: those that Node.js trusts. */
  readonly authorities?: Buffer;
  readonly certificate?: Buffer;
  readonly key?: Buffer;
  readonly verifiesPeer: boolean;
  /** Whether the certificate must name the host. */
  readonly verifiesHost: boolean;
}

export const DEFAULT_TLS: TlsOptions = { verifiesPeer: true, verifiesHost: true };

/** As `node:tls` takes them. */
export function tlsConnectionOptions(tls: TlsOptions): {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly rejectUnauthorized: boolean;
  readonly checkServerIdentity?: () => undefined;
} {
  return {
    ...(tls.authorities !== undefined && { ca: tls.authorities }),
    ...(tls.certificate !== undefined && { cert: tls.certificate }),
    ...(tls.key !== undefined && { key: tls.key }),
    rejectUnauthorized: tls.verifiesPeer,
    ...(!tls.verifiesHost && { checkServerIdentity: () => undefined }),
  };
}
