/** The one error object of the local interface: the same on the socket, over MCP and on the command line. */

interface Row {
  code: number
  http: number
  recoverable: boolean
}

/** Symbol → JSON-RPC code, HTTP status, and whether the caller can do something that makes it work. */
export const API_ERRORS = {
  unauthenticated: { code: -32001, http: 401, recoverable: true },
  forbidden: { code: -32002, http: 403, recoverable: false },
  rate_limited: { code: -32003, http: 429, recoverable: true },
  recipient_not_found: { code: -32004, http: 404, recoverable: true },
  not_a_participant: { code: -32005, http: 403, recoverable: true },
  thread_not_found: { code: -32006, http: 404, recoverable: true },
  thread_terminal: { code: -32007, http: 409, recoverable: false },
  invalid_transition: { code: -32008, http: 409, recoverable: true },
  not_authorized_transition: { code: -32009, http: 403, recoverable: false },
  state_changed: { code: -32010, http: 409, recoverable: true },
  duplicate_idempotency_key: { code: -32011, http: 409, recoverable: true },
  invalid_intent_payload: { code: -32012, http: 400, recoverable: true },
  teammate_blocked: { code: -32013, http: 403, recoverable: false },
  stale_revision: { code: -32014, http: 409, recoverable: true },
  artifact_not_found: { code: -32015, http: 404, recoverable: true },
  payload_too_large: { code: -32016, http: 413, recoverable: true },
  secret_detected: { code: -32017, http: 422, recoverable: true },
  verification_failed: { code: -32018, http: 422, recoverable: false },
  approval_required: { code: -32019, http: 409, recoverable: true },
  invalid_params: { code: -32602, http: 400, recoverable: true },
  internal: { code: -32603, http: 500, recoverable: false },
  // JSON-RPC 2.0, section 5.1
  parse_error: { code: -32700, http: 400, recoverable: true },
  invalid_request: { code: -32600, http: 400, recoverable: true },
  method_not_found: { code: -32601, http: 404, recoverable: true },
} as const satisfies Record<string, Row>

export type ApiSymbol = keyof typeof API_ERRORS

/** What `error.data` holds on the socket, and structuredContent over MCP (there beside code and message). */
export interface ErrorObject {
  code: number
  symbol: ApiSymbol
  http_status: number
  message: string
  recoverable: boolean
  /** What to do next. */
  hint: string
  request_id: string
  details: Record<string, unknown>
}

export interface ApiErrorOptions {
  hint?: string
  /** Facts of this node. What a peer wrote goes under `untrusted`. */
  details?: Record<string, unknown>
  cause?: unknown
}

/** A call that was refused; `message` says what is wrong and `hint` what to do next. */
export class ApiError extends Error {
  readonly symbol: ApiSymbol
  readonly hint: string
  readonly details: Record<string, unknown>
  constructor(symbol: ApiSymbol, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'ApiError'
    this.symbol = symbol
    this.hint = options.hint ?? ''
    this.details = options.details ?? {}
  }
  toObject(requestId: string): ErrorObject {
    const row = API_ERRORS[this.symbol]
    return {
      code: row.code,
      symbol: this.symbol,
      http_status: row.http,
      message: this.message,
      recoverable: row.recoverable,
      hint: this.hint,
      request_id: requestId,
      details: this.details,
    }
  }
}
