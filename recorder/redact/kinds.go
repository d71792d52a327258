package redact

import (
	"strings"
	"sync"
)

// kinds are four bytes of each literal, by bucket, such that little else is in a bucket,
// of whole bytes and of halves: three are followed by what may follow. They were chosen
// by trying, on pages of text, logs, code, JSON and base64; a literal that has none of
// them goes where it does the least harm, and is found all the same.
var kinds = [buckets]string{
	`"dsn,"pin,-us,-use,dose,egin,hpse,mong,moni`,
	`"ssn,2q~,:aa,basi,bsa,rase,ysql`,
	`@uni,\u00,atp-,auth,etli,ezak,eztk,kua_,ldap,ldt-,ltai,pul-`,
	`@tcp,_dsn,ctt3,cvc,cvv,jwt,pass,pat,pat-,pat.,pwd,sat.,sws `,
	`0q~,1//0,1\/\,1q~,3q~,4q~,5q~,6q~,7q~,8q~,9q~,://,:\/\,@//,dp.p,dp.s,fw_,hf_,sg.,sk.e,sk_,sk_l,sk_p,sl.,t1.`,
	`cbt-,dis-,dme_,ghp_,ghs_,ghu_,igd_,ina_,ive_,lft-,lin_,m1a_,m1r_,mak-,nfp_,npm_,ntn_,oat-,ode=,oxd-,oxp-,p8e-,pat_,pka_,pnu_,ppa_,ptt-,rak-,rjs-,rnd_,rys_,ryu_,sat_,sbp_,sdk-,sgp_,sqp_,squ_,tfp_,tkn_,tto_`,
	`nect,nked,sec_,seck,secr,sk0,sk3,sk4,sk5,sk6,sk7,sk8,sk9,skb,skc,skd,ske,skf`,
	`cio,m0-,md-,mdgt,sig=,sign,sk-,sk-a,sk-o,sk-p`,
	`.ey,a3-,fc-,flyv,key,key-,key_,pa-,pk-,r8_,re_,rk_p`,
	`cflt,ckr_,ha25,hvb.,hvr.,hvs.,ivat,oas-,oaut,oxb-,oxe-,oxe.,oxr-,oxs-,r134,rku-,sv1.,sv2_,ya29`,
	`card,eaaa,eaac,eaag,eaam,eare,eyj,eyjr,oy2,sk1,sk2,ska`,
	`_mmk,absk,acca,aida,atbb,att3,qlcm,s4t2,shpa,smbc,zxlk`,
	`apiv,agen,akcp,aken,akia,aqvn,asia,assi,dapi,dapp,nse=,ogin,oken,twin`,
	` -u ,"-u,"pw,dt0c,dt0s,jqqj,k-us,otp,wpub`,
	`_pw_,_rw_,_sa_,_v1_,aat_,aik_,aio_,api-,api_,app-,ars_,bik_,cct-,csk-,csk_,csp-,e2b_,ems_,ery_,ess-,ess_,est_,exa_,fct-,fm2_,fo1_,gho_,ghr_,glc_,gsk_,ico-,imt-,lab_,lrt-,lsa_,ops_,oxa-,oxc-,oxo-,pca_,phx_,plx-,ppo_,pss_,rii-,sib-,spx-,sqa_,vcp_,vly-,xai-,ypi-`,
	`1.0-,4b1d,abia,aiza,akid,aria,aroa,book,cook,cred,fied,fio-,hook,onid`,
}

var kindsByText = sync.OnceValue(func() map[string][]int {
	by := map[string][]int{}
	for k, list := range kinds {
		for four := range strings.SplitSeq(list, ",") {
			by[folded(four)] = append(by[folded(four)], k)
		}
	}
	return by
})

// kindsOf returns the buckets that have four bytes of a literal.
func kindsOf(four string) []int { return kindsByText()[four] }
