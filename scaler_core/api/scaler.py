"""The `ModelDeploymentScaler` object and its names in the API."""

from typing import Final

from scaler_core.api.base import Wire
from scaler_core.api.meta import ObjectMeta
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import ScalerStatus

GROUP: Final = "worker.gpustack.ai"
VERSION: Final = "v1"
VERSIONS: Final = ("v1", "v1alpha1")
KIND: Final = "ModelDeploymentScaler"
PLURAL: Final = "modeldeploymentscalers"
SHORT_NAME: Final = "mds"
CATEGORY: Final = "gpustack"
TARGET_KIND: Final = "ModelDeployment"
TARGET_PLURAL: Final = "modeldeployments"
FINALIZER: Final = "worker.gpustack.ai/scaler-binding"


class ModelDeploymentScaler(Wire):
    """A scaler, after defaulting."""

    metadata: ObjectMeta
    spec: ScalerSpec
    status: ScalerStatus = ScalerStatus()
