/**
 * Shapes of secrets that the packaged rules do not know: our own codes and tokens, and what they leave out.
 * A placeholder in the place of a secret is none.
 */
import { parseCode } from '../../protocol/index.ts'

export interface SecretRule {
  readonly id: string
  /** With the flag g. Every quantifier is bounded, so that no text takes long. */
  readonly pattern: RegExp
  /** Says of a match whether it is one. */
  readonly isSecret?: (match: RegExpMatchArray) => boolean
}

/** Where a variable is filled in later, or a text for people stands in the place of the secret. */
const VARIABLE = /\$\{|\$[A-Za-z_(]|\{\{|^\{.*\}$|^%\w+%$|[<>]|\*{3}|\.{3}|…/
const PLACEHOLDER =
  /^(?:(?:my|your|the|an?|some|test|db|user|admin|example)?[-_]?(?:pass(?:word|wd)?|pwd|pw|secret|token|key|credentials?)|changeme|change_me|example|user(?:name)?|hunter2|redacted|hidden)\d{0,3}$/i

function isReal(password: string): boolean {
  return !VARIABLE.test(password) && !PLACEHOLDER.test(password) && !/^(.)\1*$/.test(password)
}

/** What stands behind `Basic` or `Bearer` for real: as long and as mixed as a token is, and no user and password of a manual. */
function isCredential(scheme: string, credential: string): boolean {
  if (scheme.toLowerCase() === 'basic') {
    const [, password] = /^[^:]{0,100}:(.{4,})$/.exec(Buffer.from(credential, 'base64').toString('latin1')) ?? []
    return password !== undefined && isReal(password)
  }
  return (
    /\d/.test(credential) &&
    /[A-Za-z]/.test(credential) &&
    new Set(credential).size >= TOKEN_CHARS_MIN &&
    isReal(credential)
  )
}

const TOKEN_CHARS_MIN = 10

/** A signed token by its own words. Whom everybody's manual names holds no secret. */
function isJwt(header: string, payload: string): boolean {
  try {
    const [head, claims] = [header, payload].map((part): unknown =>
      JSON.parse(Buffer.from(part, 'base64url').toString()),
    )
    const isSigned = typeof head === 'object' && head !== null && 'alg' in head && head.alg !== 'none'
    const isObject = typeof claims === 'object' && claims !== null
    return isSigned && isObject && !('sub' in claims && claims.sub === '1234567890')
  } catch {
    return false
  }
}

export const SECRET_RULES: readonly SecretRule[] = [
  {
    id: 'relay-invite',
    pattern: /(?<![a-z0-9])relay1[02-9ac-hj-np-z]{32,1017}(?![a-z0-9])/gi,
    isSecret: ([code]) => parseCode(code).ok,
  },
  { id: 'relay-token', pattern: /(?<![A-Za-z0-9_])rns_[A-Za-z0-9_-]{32,128}/g },
  {
    // A diff has a sign before each line, and a key that was cut off is one all the same.
    id: 'privatekey',
    pattern:
      /-----BEGIN ?(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[^]){0,300}?[A-Za-z0-9+/]{40}/g,
  },
  { id: 'age-key', pattern: /AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}/g },
  {
    id: 'aws-access-key-id',
    pattern: /(?<![A-Za-z0-9/+])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9/+])/g,
    isSecret: ([id]) => !id.endsWith('EXAMPLE'),
  },
  { id: 'azure-storage', pattern: /AccountKey=[A-Za-z0-9+/]{86}==/g },
  { id: 'google-api-key', pattern: /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/g },
  { id: 'google-client-secret', pattern: /(?<![A-Za-z0-9_-])GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])/g },
  { id: 'pypi', pattern: /(?<![A-Za-z0-9_-])pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,500}/g },
  { id: 'digitalocean', pattern: /(?<![A-Za-z0-9_])do[opr]_v1_[a-f0-9]{64}(?![A-Za-z0-9])/g },
  {
    id: 'jwt',
    pattern: /(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{10,1000})\.(eyJ[A-Za-z0-9_-]{4,8000})\.[A-Za-z0-9_-]{20,1000}/g,
    isSecret: ([, header = '', payload = '']) => isJwt(header, payload),
  },
  {
    id: 'authorization',
    pattern:
      /authorization["']?\s{0,4}[:=,]\s{0,4}["'`]?(basic|bearer|token)\s{1,4}([A-Za-z0-9+/_.~-]{12,4000}={0,2})/gi,
    isSecret: ([, scheme = '', credential = '']) => isCredential(scheme, credential),
  },
  {
    id: 'npm-auth',
    pattern: /_auth(?:Token)?\s{0,4}=\s{0,4}["']?([^\s"']{16,500})/g,
    isSecret: ([, token = '']) => isReal(token),
  },
  {
    id: 'url-password',
    pattern: /(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,20}:\/\/([^\s/:@"'`<>?#]{0,100}):([^\s/@"'`?#]{4,200})@[A-Za-z0-9[]/gi,
    isSecret: ([, user = '', password = '']) => user !== password && isReal(password),
  },
]
