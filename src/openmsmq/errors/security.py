"""Permissions, identities, certificates, signatures and encryption."""

from __future__ import annotations

from openmsmq.errors.base import MQError
from openmsmq.errors.hresult import HResult


class AccessDenied(MQError, PermissionError):
    """Access denied. Ask the owner of the queue or the administrator for the permission."""

    hresult = HResult.MQ_ERROR_ACCESS_DENIED


class TokenRefused(MQError, code_of=AccessDenied):
    """The token was rejected.

    `openmsmq token create` makes one; pass it with --token, OPENMSMQ_TOKEN or token=.
    """


class PrivilegeNotHeld(MQError, PermissionError):
    """This needs a privilege your account does not have."""

    hresult = HResult.MQ_ERROR_PRIVILEGE_NOT_HELD


class IllegalSecurityDescriptor(MQError):
    """The security descriptor is malformed."""

    hresult = HResult.MQ_ERROR_ILLEGAL_SECURITY_DESCRIPTOR


class InvalidOwner(MQError):
    """The object cannot belong to this owner, or its name does not say which machine owns it."""

    hresult = HResult.MQ_ERROR_INVALID_OWNER


class IllegalUser(MQError):
    """There is no such user."""

    hresult = HResult.MQ_ERROR_ILLEGAL_USER


class CannotImpersonateClient(MQError):
    """The server cannot act in the caller's name, so it cannot check what the caller may do."""

    hresult = HResult.MQ_ERROR_CANNOT_IMPERSONATE_CLIENT


class BadSecurityContext(MQError):
    """Invalid or expired security context."""

    hresult = HResult.MQ_ERROR_BAD_SECURITY_CONTEXT


class CouldNotGetUserSid(MQError):
    """The security identifier of the current user could not be determined."""

    hresult = HResult.MQ_ERROR_COULD_NOT_GET_USER_SID


class CouldNotGetAccountInfo(MQError):
    """No information about the user's account is available."""

    hresult = HResult.MQ_ERROR_COULD_NOT_GET_ACCOUNT_INFO


class InvalidCertificate(MQError):
    """The certificate is damaged or is not a certificate."""

    hresult = HResult.MQ_ERROR_INVALID_CERTIFICATE


class CertificateNotProvided(MQError):
    """A message is to be signed but no certificate was given."""

    hresult = HResult.MQ_ERROR_CERTIFICATE_NOT_PROVIDED


class CorruptedInternalCertificate(MQError):
    """The user's internal certificate is damaged. Renew it."""

    hresult = HResult.MQ_ERROR_CORRUPTED_INTERNAL_CERTIFICATE


class InternalUserCertExist(MQError):
    """The user has an internal certificate already."""

    hresult = HResult.MQ_ERROR_INTERNAL_USER_CERT_EXIST


class NoInternalUserCert(MQError):
    """The user has no internal certificate. Register one before signing messages."""

    hresult = HResult.MQ_ERROR_NO_INTERNAL_USER_CERT


class CorruptedPersonalCertStore(MQError):
    """The user's certificate store is damaged."""

    hresult = HResult.MQ_ERROR_CORRUPTED_PERSONAL_CERT_STORE


class CannotCreateCertStore(MQError):
    """No store for the internal certificate could be created."""

    hresult = HResult.MQ_ERROR_CANNOT_CREATE_CERT_STORE


class CannotOpenCertStore(MQError):
    """The store of the internal certificate cannot be opened."""

    hresult = HResult.MQ_ERROR_CANNOT_OPEN_CERT_STORE


class CorruptedSecurityData(MQError):
    """A cryptographic operation failed on the data it was given."""

    hresult = HResult.MQ_ERROR_CORRUPTED_SECURITY_DATA


class ComputerDoesNotSupportEncryption(MQError):
    """The machine at one end cannot encrypt or decrypt messages."""

    hresult = HResult.MQ_ERROR_COMPUTER_DOES_NOT_SUPPORT_ENCRYPTION


class EncryptionProviderNotSupported(MQError):
    """Messages cannot be encrypted with this cryptographic provider."""

    hresult = HResult.MQ_ERROR_ENCRYPTION_PROVIDER_NOT_SUPPORTED


class CannotSetCryptoSecDescr(MQError):
    """The permissions on the machine's keys could not be set."""

    hresult = HResult.MQ_ERROR_CANNOT_SET_CRYPTO_SEC_DESCR


class PublicKeyNotFound(MQError):
    """The public key of the receiving machine could not be found.

    Without it nothing can be encrypted for that machine.
    """

    hresult = HResult.MQ_ERROR_PUBLIC_KEY_NOT_FOUND


class PublicKeyDoesNotExist(MQError):
    """The receiving machine has published no public key."""

    hresult = HResult.MQ_ERROR_PUBLIC_KEY_DOES_NOT_EXIST


class CannotCreateHashEx(MQError):
    """The hash a signature needs could not be set up. Check the hash algorithm asked for."""

    hresult = HResult.MQ_ERROR_CANNOT_CREATE_HASH_EX


class CannotHashDataEx(MQError):
    """The message could not be hashed to sign it."""

    hresult = HResult.MQ_ERROR_CANNOT_HASH_DATA_EX


class CannotSignDataEx(MQError):
    """The message could not be signed. Check that the sender's key can be used."""

    hresult = HResult.MQ_ERROR_CANNOT_SIGN_DATA_EX


class FailVerifySignatureEx(MQError):
    """The signature does not belong to this message: one of the two was changed."""

    hresult = HResult.MQ_ERROR_FAIL_VERIFY_SIGNATURE_EX
