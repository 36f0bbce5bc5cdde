"""The directory that lists machines, sites and public queues."""

from __future__ import annotations

from openmsmq.errors.base import MQError
from openmsmq.errors.hresult import HResult


class NoDs(MQError):
    """No directory server answers. Public queues need one; private queues do not."""

    hresult = HResult.MQ_ERROR_NO_DS


class DsError(MQError):
    """The directory reported an error of its own."""

    hresult = HResult.MQ_ERROR_DS_ERROR


class DsIsFull(MQError):
    """The directory has no room left (MSMQ 1.0 and 2.0 only)."""

    hresult = HResult.MQ_ERROR_DS_IS_FULL


class DsBindRootForest(MQError):
    """The root of the directory forest could not be reached.

    The name service is the usual cause.
    """

    hresult = HResult.MQ_ERROR_DS_BIND_ROOT_FOREST


class DsLocalUser(MQError):
    """A local account counts as anonymous to the directory. Log on with a domain account."""

    hresult = HResult.MQ_ERROR_DS_LOCAL_USER


class NoResponseFromObjectServer(MQError):
    """The directory server that owns the object did not answer."""

    hresult = HResult.MQ_ERROR_NO_RESPONSE_FROM_OBJECT_SERVER


class ObjectServerNotAvailable(MQError):
    """The directory server that owns the object cannot be reached."""

    hresult = HResult.MQ_ERROR_OBJECT_SERVER_NOT_AVAILABLE


class MachineExists(MQError):
    """The directory already has an entry for this machine."""

    hresult = HResult.MQ_ERROR_MACHINE_EXISTS


class GuidNotMatching(MQError):
    """The machine's entry could not be given its identity.

    Install again (MSMQ 1.0 and 2.0 only).
    """

    hresult = HResult.MQ_ERROR_GUID_NOT_MATCHING


class GcNeeded(MQError):
    """Only a global catalog server can create a machine's entry with a given identity."""

    hresult = HResult.MQ_ERROR_GC_NEEDED


class CannotGrantAddGuid(MQError):
    """The current user could not be given the right to create entries with a given identity."""

    hresult = HResult.MQ_ERROR_CANNOT_GRANT_ADD_GUID


class CannotCreateOnGc(MQError):
    """The object was not created on the global catalog server named."""

    hresult = HResult.MQ_ERROR_CANNOT_CREATE_ON_GC


class CannotJoinDomain(MQError):
    """The machine joined its domain but could not register there.

    Queueing stays in workgroup mode.
    """

    hresult = HResult.MQ_ERROR_CANNOT_JOIN_DOMAIN


class CannotGetDn(MQError):
    """The machine's own directory name could not be found out (MSMQ 1.0 and 2.0 only)."""

    hresult = HResult.MQ_ERROR_CANNOT_GET_DN


class CantResolveSites(MQError):
    """The sites of this machine cannot be determined.

    Check that each site in the directory has its subnets.
    """

    hresult = HResult.MQ_ERROR_CANT_RESOLVE_SITES


class NoGcInDomain(MQError):
    """The domain has no global catalog server."""

    hresult = HResult.MQ_ERROR_NO_GC_IN_DOMAIN


class NoMsmqServersOnDc(MQError):
    """No domain controller runs message queueing."""

    hresult = HResult.MQ_ERROR_NO_MSMQ_SERVERS_ON_DC


class NoMsmqServersOnGc(MQError):
    """No global catalog server runs message queueing."""

    hresult = HResult.MQ_ERROR_NO_MSMQ_SERVERS_ON_GC


class NoMquserOu(MQError):
    """The domain lacks the container for users of message queueing. Create it by hand."""

    hresult = HResult.MQ_ERROR_NO_MQUSER_OU


class NotACorrectObjectClass(MQError):
    """The directory object is of another class than the one asked for."""

    hresult = HResult.MQ_ERROR_NOT_A_CORRECT_OBJECT_CLASS


class UnsupportedClass(MQError):
    """Directory objects of this class are not supported."""

    hresult = HResult.MQ_ERROR_UNSUPPORTED_CLASS


class IllegalEnterpriseOperation(MQError):
    """This cannot be done to the object that describes the whole enterprise."""

    hresult = HResult.MQ_ERROR_ILLEGAL_ENTERPRISE_OPERATION


class DeleteCnInUse(MQError):
    """The connected network still has machines and cannot be deleted (MSMQ 1.0 and 2.0 only)."""

    hresult = HResult.MQ_ERROR_DELETE_CN_IN_USE


class WriteNotAllowed(MQError):
    """The directory takes no changes while another of its servers is being installed."""

    hresult = HResult.MQ_ERROR_WRITE_NOT_ALLOWED


class MqisServerEmpty(MQError):
    """No directory servers are configured (MSMQ 1.0 and 2.0 only)."""

    hresult = HResult.MQ_ERROR_MQIS_SERVER_EMPTY


class MqisReadonlyMode(MQError):
    """The directory database can only be read at present (MSMQ 1.0 and 2.0 only)."""

    hresult = HResult.MQ_ERROR_MQIS_READONLY_MODE


class CannotCreatePscObjects(MQError):
    """The object would belong to a site controller of MSMQ 1.0, so it can be created only there."""

    hresult = HResult.MQ_ERROR_CANNOT_CREATE_PSC_OBJECTS


class CannotUpdatePscObjects(MQError):
    """The object belongs to a site controller of MSMQ 1.0, so it can be changed only there."""

    hresult = HResult.MQ_ERROR_CANNOT_UPDATE_PSC_OBJECTS


class CannotDeletePscObjects(MQError):
    """The object belongs to a site controller of MSMQ 1.0, so it can be deleted only there."""

    hresult = HResult.MQ_ERROR_CANNOT_DELETE_PSC_OBJECTS


class UnknownSource(MQError):
    """A change came from a directory server that is not known here."""

    hresult = HResult.MQDS_UNKNOWN_SOURCE


class CannotLoadMqad(MQError):
    """The directory component of a Windows queue manager could not be loaded."""

    hresult = HResult.MQ_ERROR_CANNOT_LOAD_MQAD


class CannotLoadMqdssrv(MQError):
    """The directory server component could not be loaded. No version of MSMQ reports this."""

    hresult = HResult.MQ_ERROR_CANNOT_LOAD_MQDSSRV


class CannotLoadMsmqocm(MQError):
    """The setup component of Windows could not be loaded (MSMQ 1.0 and 2.0 only)."""

    hresult = HResult.MQ_ERROR_CANNOT_LOAD_MSMQOCM


class NoEntryPointMsmqocm(MQError):
    """The setup component of Windows lacks a function it should have."""

    hresult = HResult.MQ_ERROR_NO_ENTRY_POINT_MSMQOCM
