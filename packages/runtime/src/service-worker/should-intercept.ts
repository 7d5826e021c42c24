import { isGrpcTarget } from "@naiad/grpc/target";

/** What decides whether a fetch is the server's. */
export interface InterceptedRequest {
  /** Absolute, as `Request.url` gives it. */
  readonly url: string;
}

export interface InterceptionScope {
  /** `https://example.test` */
  readonly origin: string;
  /** Path under which /v2 appears, with slashes at both ends. */
  readonly base: string;
  /** Whether `<base>metrics` is the server's too. */
  readonly metrics: "intercepted" | "left alone";
}

export type Interception =
  /** Path and query with the base removed: what stands in a request line to Triton. */
  { readonly kind: "forward"; readonly rawTarget: string } | { readonly kind: "pass" };

const PASS: Interception = { kind: "pass" };

/**
 * `<base>v2` and everything below it on our own origin is the server's, whatever the method, and navigations too: an
 * address such as `/v2/health/ready` typed into the address bar is answered as Triton would answer it. An application that
 * has pages of its own under `/v2` gives the server another base. `<base>metrics` alone (Triton has it on a port of its own)
 * is the server's as well, unless the application wants it for itself, and so is `<base>v2-files/`, from where workers import
 * the modules of models, and gRPC's services, which gRPC-Web and Connect put into the path. Everything else goes to the network untouched.
 *
 * Triton routes on the raw path, so the target is cut out of the text of the URL and never decoded or built again. (The
 * browser has already resolved `.` and `..` segments, also where they were written `%2e`.)
 */
export function shouldIntercept(
  { url }: InterceptedRequest,
  { origin, base, metrics }: InterceptionScope,
): Interception {
  const root = origin + base;
  if (!url.startsWith(root)) return PASS;
  const [rest = ""] = url.slice(root.length).split("#", 1);
  const isOurs =
    isGrpcTarget(`/${rest}`) ||
    /^v2(?:-files\/|[/?]|$)/.test(rest) ||
    (metrics === "intercepted" && /^metrics\/?(?:\?|$)/.test(rest));
  return isOurs ? { kind: "forward", rawTarget: `/${rest}` } : PASS;
}
